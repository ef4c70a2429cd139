"""A development certificate authority and the one certificate it issues for the local chain.

The CA certificate works as NODE_EXTRA_CA_CERTS: unmodified clients then accept the chain in place of
the public test network. Key and certificates are written once and reused; the keys are private to the user.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

TUNNEL_HOSTS = ("soroban-testnet.stellar.org", "horizon-testnet.stellar.org", "localhost", "127.0.0.1")
LIFETIME = timedelta(days=365)
RENEW_BEFORE = timedelta(days=7)


@dataclass(frozen=True)
class Certificates:
    """Where the files are; `ca_file` is what clients have to trust."""

    ca_file: Path
    chain_file: Path
    key_file: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.chain_file, self.key_file)
        return context


def ensure(directory: Path) -> Certificates:
    """Read the certificates of a directory, or make new ones when there are none or they run out."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = Certificates(directory / "ca.pem", directory / "chain.pem", directory / "chain-key.pem")
    if not _usable(files):
        _create(files)
    return files


def _usable(files: Certificates) -> bool:
    if not all(path.exists() for path in (files.ca_file, files.chain_file, files.key_file)):
        return False
    certificate = x509.load_pem_x509_certificate(files.chain_file.read_bytes())
    return certificate.not_valid_after_utc - RENEW_BEFORE > datetime.now(UTC)


def _create(files: Certificates) -> None:
    """The CA key is dropped after its one signature, so no further certificates can be made with it."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _ca_certificate(ca_key)
    certificate = _server_certificate(key, ca, ca_key)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _write(files.key_file, private, 0o600)
    _write(files.chain_file, certificate.public_bytes(pem) + ca.public_bytes(pem), 0o644)
    _write(files.ca_file, ca.public_bytes(pem), 0o644)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Never readable by others, not even for the moment between creating and changing the mode."""
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    temporary.replace(path)


def _builder(
    subject: str, issuer: x509.Name | None, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer or name)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _ca_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    usage = dict.fromkeys(
        (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return (
        _builder("provider local network CA", None, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage, key_cert_sign=True, crl_sign=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _server_certificate(
    key: ec.EllipticCurvePrivateKey, ca: x509.Certificate, ca_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    names: list[x509.GeneralName] = [x509.DNSName(host) for host in TUNNEL_HOSTS[:3]]
    names.append(x509.IPAddress(ipaddress.ip_address(TUNNEL_HOSTS[3])))
    return (
        _builder("provider local chain", ca.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
