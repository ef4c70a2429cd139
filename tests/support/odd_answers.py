"""How a facilitator may answer `/settle` and `/verify`, and what each answer means (standard §8)."""

import json
from typing import Any

from stellar_sdk import Keypair

from provider.payments.models import PaymentRequirements, VerifyResponse
from provider.payments.settlement import SettleKind
from tests.support.raw_http import Behave, answer, drip, flood, reset, send, silence

PAYER = Keypair.from_raw_ed25519_seed(bytes(range(32)))
OFFER = PaymentRequirements(
    network="stellar:testnet",
    asset="CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    amount=500_000,
    pay_to="GDEERFUC6A6MRHQEGEXIRV57LOZ4DYQLHK5TAMMQM7QL7MWOHJATDKQS",
    max_timeout_seconds=60,
    extra={"areFeesSponsored": True},
)
HASH = "ab" * 32
SETTLED: dict[str, Any] = {
    "success": True,
    "transaction": HASH,
    "network": OFFER.network,
    "payer": PAYER.public_key,
}
REFUSED: dict[str, Any] = {
    "success": False,
    "transaction": "",
    "network": OFFER.network,
    "errorReason": "invalid_exact_stellar_payload_wrong_amount",
}
HEAD = b"HTTP/1.1 200 OK\r\n"
OK = json.dumps(SETTLED).encode()
JSON_OK = HEAD + b"Content-Length: %d\r\n\r\n" % len(OK) + OK
LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"

Odd = dict[str, tuple[Behave, SettleKind]]
UNCERTAIN, REFUSAL, PAID = SettleKind.UNCERTAIN, SettleKind.REFUSED, SettleKind.SETTLED

ANSWERS: Odd = {
    "settled": (answer(200, SETTLED), PAID),
    "settled, upper case": (answer(200, SETTLED | {"transaction": HASH.upper()}), PAID),
    "settled, payer absent": (answer(200, {k: v for k, v in SETTLED.items() if k != "payer"}), PAID),
    "settled, chunked": (
        send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(OK) + OK + b"\r\n0\r\n\r\n"),
        PAID,
    ),
    "settled, until close": (send(HEAD + b"\r\n" + OK), PAID),
    "refused": (answer(200, REFUSED), REFUSAL),
    "HTML": (answer(200, b"<html>payment settled</html>", "Content-Type: text/html"), UNCERTAIN),
    "empty 200": (answer(200, b""), UNCERTAIN),
    "truncated JSON": (answer(200, OK[:-2]), UNCERTAIN),
    "two objects": (answer(200, OK + OK), UNCERTAIN),
    "NaN": (answer(200, OK[:-1] + b', "fee": NaN}'), UNCERTAIN),
    "success twice": (answer(200, b'{"success": false, ' + OK[1:]), UNCERTAIN),
    '"true"': (answer(200, SETTLED | {"success": "true"}), UNCERTAIN),
    "1": (answer(200, SETTLED | {"success": 1}), UNCERTAIN),
    "a list": (answer(200, [SETTLED]), UNCERTAIN),
    "a string": (answer(200, "success"), UNCERTAIN),
    "null": (answer(200, None), UNCERTAIN),
    "not UTF-8": (answer(200, b'{"success": true, "\xff": 1}'), UNCERTAIN),
    "64 non-hex": (answer(200, SETTLED | {"transaction": "z" * 64}), UNCERTAIN),
    "empty hash": (answer(200, SETTLED | {"transaction": ""}), UNCERTAIN),
    "wrong network": (answer(200, SETTLED | {"network": "stellar:pubnet"}), UNCERTAIN),
    "wrong payer": (answer(200, SETTLED | {"payer": OFFER.pay_to}), UNCERTAIN),
    "pending": (answer(200, REFUSED | {"errorReason": "settlement_pending", "transaction": HASH}), UNCERTAIN),
    "failed with a hash": (
        answer(
            200, REFUSED | {"errorReason": "settle_exact_stellar_transaction_failed", "transaction": HASH}
        ),
        UNCERTAIN,
    ),
    "unknown reason": (answer(200, REFUSED | {"errorReason": "computer_says_no"}), UNCERTAIN),
    "201": (answer(201, SETTLED), UNCERTAIN),
    "202": (answer(202, SETTLED), UNCERTAIN),
    "204": (send(b"HTTP/1.1 204 No Content\r\n\r\n"), UNCERTAIN),
    "304": (send(b"HTTP/1.1 304 Not Modified\r\n\r\n"), UNCERTAIN),
    "400 refused": (answer(400, REFUSED), UNCERTAIN),
    "401": (answer(401, {"error": "unauthorized"}), UNCERTAIN),
    "402": (answer(402, REFUSED), UNCERTAIN),
    "429": (answer(429, {"error": "slow down"}, "Retry-After: 1"), UNCERTAIN),
    "500 with success true": (answer(500, SETTLED), UNCERTAIN),
    "502 HTML": (answer(502, b"<h1>Bad Gateway</h1>"), UNCERTAIN),
    "503": (answer(503, REFUSED), UNCERTAIN),
    "100 for ever": (send(b"HTTP/1.1 100 Continue\r\n\r\n"), UNCERTAIN),
    "redirect loop": (answer(307, b"", "Location: /settle"), UNCERTAIN),
    "redirect away": (answer(302, SETTLED, "Location: http://127.0.0.1:9/"), UNCERTAIN),
    "huge body": (answer(200, OK[:-1] + b', "x": "' + b"x" * 70_000 + b'"}'), UNCERTAIN),
    "endless body": (flood(HEAD + b"\r\n", b"["), UNCERTAIN),
    "endless chunk size": (flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"), UNCERTAIN),
    "endless trailers": (
        flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X: y\r\n"),
        UNCERTAIN,
    ),
    "bad chunk size": (send(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"), UNCERTAIN),
    "bad gzip": (answer(200, OK, "Content-Encoding: gzip"), UNCERTAIN),
    "too many headers": (send(HEAD + b"X: y\r\n" * 5000 + b"\r\n" + OK), UNCERTAIN),
    "no HTTP": (send(b"SSH-2.0-OpenSSH_9.2\r\n"), UNCERTAIN),
    "half a status line": (send(b"HTTP/1.1 2"), UNCERTAIN),
    "half a body": (send(LONG + OK), UNCERTAIN),
    "closed after the request": (send(b""), UNCERTAIN),
    "reset after the request": (reset, UNCERTAIN),
    "silence": (silence, UNCERTAIN),
    "slow status line": (drip(JSON_OK, 0.05), UNCERTAIN),
    "slow headers": (drip(b"X: y\r\n" * 50, 0.05, before=HEAD), UNCERTAIN),
    "slow body": (drip(OK, 0.05, before=JSON_OK[: -len(OK)]), UNCERTAIN),
    "slow chunks": (
        drip(b"1\r\n{\r\n" * 50, 0.05, before=HEAD + b"Transfer-Encoding: chunked\r\n\r\n"),
        UNCERTAIN,
    ),
}

VERDICTS: dict[str, tuple[Behave, VerifyResponse | None]] = {
    "valid, and fields of other types": (
        answer(200, {"isValid": True, "payer": 5, "invalidReason": []}),
        VerifyResponse(True),
    ),
    "its own failure": (
        answer(200, {"isValid": False, "invalidReason": "unexpected_verify_error"}),
        None,
    ),
    "valid": (answer(200, {"isValid": True, "payer": "GABC"}), VerifyResponse(True)),
    "invalid": (
        answer(200, {"isValid": False, "invalidReason": "insufficient_funds", "payer": None}),
        VerifyResponse(False, "insufficient_funds"),
    ),
    "invalid as 400": (
        answer(400, {"isValid": False, "invalidReason": "x"}),
        VerifyResponse(False, "x"),
    ),
    "valid as 400": (answer(400, {"isValid": True}), None),
    "valid as 500": (answer(500, {"isValid": True}), None),
    "invalid as 401": (answer(401, {"isValid": False}), None),
    "invalid as 500": (answer(500, {"isValid": False}), None),
    '"true"': (answer(200, {"isValid": "true"}), None),
    "1": (answer(200, {"isValid": 1}), None),
    "no verdict": (answer(200, {"valid": True}), None),
    "a list": (answer(200, [{"isValid": True}]), None),
    "HTML": (answer(200, b"<html>"), None),
    "redirect": (answer(307, {"isValid": True}, "Location: /verify"), None),
    "huge": (answer(200, b'{"isValid": true, "x": "' + b"x" * 70_000 + b'"}'), None),
    "reset": (reset, None),
    "silence": (silence, None),
    "slow": (drip(b'{"isValid": true}' + b" " * 200, 0.05, before=LONG), None),
}
