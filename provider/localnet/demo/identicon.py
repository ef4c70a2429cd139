"""Draw a picture that stands for a text: five by five cells, the right half a mirror of the left."""

import hashlib
import struct
import zlib

SIZE = 5
_HALF = SIZE // 2 + 1


def cells(text: str) -> list[list[bool]]:
    """Choose the dark cells by the hash of the text."""
    bits = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    halves = [[bool(bits >> (row * _HALF + column) & 1) for column in range(_HALF)] for row in range(SIZE)]
    return [half + half[-2::-1] for half in halves]


def png(dark: list[list[bool]], scale: int) -> bytes:
    """Encode the cells as a grey PNG, each a square of `scale` pixels."""
    rows = [b"".join((b"\x20" if cell else b"\xff") * scale for cell in row) for row in dark]
    pixels = b"".join((b"\x00" + row) * scale for row in rows)  # Each line begins with its filter: none.
    header = struct.pack(">IIBBBBB", len(dark[0]) * scale, len(dark) * scale, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
