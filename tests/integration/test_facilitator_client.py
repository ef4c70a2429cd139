"""The facilitator client against a real server that answers oddly (standard §8)."""

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from provider import bounded_http, errors
from provider.payments import transport
from provider.payments.facilitator import FacilitatorClient
from provider.payments.models import PaymentPayload
from provider.payments.schemas import load_payload
from provider.payments.settlement import FacilitatorAnswer, Failure, SettleKind
from tests.support.odd_answers import ANSWERS, HASH, OFFER, PAID, PAYER, SETTLED, UNCERTAIN, VERDICTS
from tests.support.payments import payment_wire, requirements_wire, signed_payment
from tests.support.raw_http import answer, localhost_tls, raw_server, reset, send


@pytest.fixture(scope="module")
def payment() -> PaymentPayload:
    return signed_payment(OFFER, PAYER, 1_000_031)


@pytest.fixture
def closed_url() -> str:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _patience(name: str) -> float:
    """Wait long for an answer that comes, and briefly for one that does not."""
    return 0.3 if name == "silence" or name.startswith("slow") else 30


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_to_settle_is_one_of_three_outcomes_in_time(payment: PaymentPayload, name: str) -> None:
    """One request is sent, whatever comes back; the deadline holds against drips as well."""
    behave, kind = ANSWERS[name]
    with raw_server(behave) as server:
        began = time.monotonic()
        outcome = FacilitatorClient(server.url, settle_timeout_seconds=_patience(name)).settle(
            payment, OFFER, payer=PAYER.public_key
        )
        assert time.monotonic() - began < 4
        assert outcome.kind is kind
        assert len(server.requests) == server.connections == 1
    assert (outcome.reason is None) is (kind is PAID)


def test_a_hash_is_kept_even_if_the_outcome_is_uncertain(payment: PaymentPayload) -> None:
    """It is the first thing that reconciliation asks for."""
    with raw_server(ANSWERS["failed with a hash"][0]) as server:
        outcome = FacilitatorClient(server.url).settle(payment, OFFER, payer=PAYER.public_key)
    assert (outcome.kind, outcome.transaction) == (UNCERTAIN, HASH)


def test_a_refused_connection_sent_nothing(payment: PaymentPayload, closed_url: str) -> None:
    """So the call may be made again."""
    assert (
        FacilitatorClient(closed_url).settle(payment, OFFER, payer=PAYER.public_key).kind
        is SettleKind.NOT_SENT
    )


def test_an_unknown_host_sent_nothing(payment: PaymentPayload) -> None:
    """The name does not resolve."""
    client = FacilitatorClient("http://facilitator.invalid")
    assert client.settle(payment, OFFER, payer=PAYER.public_key).kind is SettleKind.NOT_SENT


def test_a_connection_that_is_never_accepted_sent_nothing(payment: PaymentPayload) -> None:
    """The connect time-out: the backlog is full, so the handshake does not finish."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        client = FacilitatorClient(f"http://127.0.0.1:{port}", settle_timeout_seconds=0.3)
        assert client.settle(payment, OFFER, payer=PAYER.public_key).kind is SettleKind.NOT_SENT
        for one in waiting:
            one.close()


def test_a_failed_tls_handshake_is_uncertain(payment: PaymentPayload) -> None:
    """Only what surely sent nothing counts as not sent."""
    with raw_server(send(b"")) as server:
        client = FacilitatorClient(server.url.replace("http:", "https:"), settle_timeout_seconds=0.4)
        assert client.settle(payment, OFFER, payer=PAYER.public_key).kind is UNCERTAIN


def test_the_deadline_holds_inside_tls(tmp_path: Path) -> None:
    """Reads go through the same budget, answers in time are read."""
    context, authority = localhost_tls(tmp_path)
    told: list[FacilitatorAnswer] = []
    for behave, seconds in ((answer(200, SETTLED), 30), (ANSWERS["slow body"][0], 0.3)):
        with raw_server(behave, tls=context) as server, bounded_http.new_session({}) as session:
            session.verify = str(authority)
            url = server.url.replace("http://127.0.0.1", "https://localhost")
            told.append(transport.call(session, "POST", url, seconds=seconds, body=b"{}"))
    assert told == [FacilitatorAnswer(200, SETTLED), FacilitatorAnswer(failure=Failure.TIMED_OUT)]


def test_settle_sends_the_body_of_x402_as_the_buyer_wrote_it(payment: PaymentPayload) -> None:
    """Unknown fields included, with the API key, on a connection of its own."""
    sent = payment_wire(payment) | {"later": [1, "ä"]}
    with raw_server(answer(200, SETTLED)) as server:
        client = FacilitatorClient(server.url + "/base/", api_key="secret")
        client.settle(load_payload(sent), OFFER, payer=PAYER.public_key)
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /base/settle HTTP/1.1")
    assert b"Authorization: Bearer secret" in head
    assert b"Connection: close" in head
    assert json.loads(body) == {
        "x402Version": 2,
        "paymentPayload": sent,
        "paymentRequirements": requirements_wire(OFFER),
    }


def test_settle_never_uses_a_connection_again(payment: PaymentPayload) -> None:
    """A stale one would turn "nothing sent" into "uncertain"."""
    with raw_server(answer(200, SETTLED)) as server:
        client = FacilitatorClient(server.url)
        assert [client.settle(payment, OFFER, payer=PAYER.public_key).kind for _ in range(3)] == [PAID] * 3
        assert 3 <= server.connections <= 5, "nine, if none were kept; a close that is seen late costs one"


@pytest.mark.parametrize("name", VERDICTS)
def test_verify_gives_a_verdict_or_says_that_there_is_none(payment: PaymentPayload, name: str) -> None:
    """No usable answer is a 503 of ours, never a verdict."""
    behave, verdict = VERDICTS[name]
    with raw_server(behave) as server:
        client = FacilitatorClient(server.url, verify_timeout_seconds=_patience(name))
        began = time.monotonic()
        if verdict is None:
            with pytest.raises(errors.FacilitatorUnreachable) as failure:
                client.verify(payment, OFFER)
            assert failure.value.status == 503
            assert "/verify gave no usable answer" in failure.value.for_operators
        else:
            assert client.verify(payment, OFFER) == verdict
        assert time.monotonic() - began < 4


def test_verify_keeps_its_connection_and_survives_its_loss(payment: PaymentPayload) -> None:
    """The server closes a kept connection after each third answer; asking again is harmless."""
    counted: list[int] = []

    def close_sometimes(connection: socket.socket) -> None:
        counted.append(1)
        answer(200, {"isValid": True})(connection)
        if len(counted) % 3 == 0:
            connection.close()  # After a mere shutdown it would still read a request that was on its way.

    with raw_server(close_sometimes) as server:
        client = FacilitatorClient(server.url)
        assert all(client.verify(payment, OFFER).valid for _ in range(9))
        assert server.connections == 3


def test_a_kept_connection_that_resets_is_asked_once_more(payment: PaymentPayload) -> None:
    """Not more often: a server that always resets is unreachable."""
    with raw_server(reset) as server:
        with pytest.raises(errors.FacilitatorUnreachable):
            FacilitatorClient(server.url).verify(payment, OFFER)
        assert len(server.requests) == 2


def test_what_a_server_says_out_of_turn_is_no_answer(payment: PaymentPayload) -> None:
    """Bytes that came after an answer would be taken for the next one: the connection is not used again."""
    read, sent = threading.Event(), threading.Event()

    def say_more(connection: socket.socket) -> None:
        answer(200, {"isValid": False, "invalidReason": "no"})(connection)
        read.wait(10)
        with suppress(OSError):
            answer(200, {"isValid": True})(connection)
        sent.set()

    with raw_server(say_more) as server:
        client = FacilitatorClient(server.url)
        assert not client.verify(payment, OFFER).valid
        read.set()
        assert sent.wait(10)
        assert not client.verify(payment, OFFER).valid
        assert server.connections == 2


def test_verify_trusts_known_authorities_alone(
    payment: PaymentPayload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept connection checks certificates and names as a session does."""
    context, authority = localhost_tls(tmp_path)
    with raw_server(answer(200, {"isValid": True}), tls=context) as server:
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        with pytest.raises(errors.FacilitatorUnreachable):
            FacilitatorClient(url).verify(payment, OFFER)
        monkeypatch.setattr(bounded_http, "DEFAULT_CA_BUNDLE_PATH", str(authority))
        assert FacilitatorClient(url).verify(payment, OFFER).valid
        with pytest.raises(errors.FacilitatorUnreachable):
            FacilitatorClient(url.replace("localhost", "127.0.0.1")).verify(payment, OFFER)
        assert len(server.requests) == 1


def test_supported_tells_what_the_facilitator_settles() -> None:
    """Anything else is no usable answer."""
    kinds = {"kinds": [{"x402Version": 2, "scheme": "exact", "network": OFFER.network}], "signers": {}}
    with raw_server(answer(200, kinds)) as server:
        assert FacilitatorClient(server.url).supported() == kinds
        assert server.requests[0].startswith(b"GET /supported ")
    with raw_server(answer(200, {})) as server, pytest.raises(errors.FacilitatorUnreachable):
        FacilitatorClient(server.url).supported()


def test_the_observer_is_told_every_call(payment: PaymentPayload, closed_url: str) -> None:
    """Also of calls that failed."""
    told: list[tuple[str, float]] = []
    client = FacilitatorClient(closed_url, observer=lambda name, seconds: told.append((name, seconds)))
    client.settle(payment, OFFER, payer=PAYER.public_key)
    for call in (lambda: client.verify(payment, OFFER), client.supported):
        with pytest.raises(errors.FacilitatorUnreachable):
            call()
    assert [name for name, _ in told] == ["settle", "verify", "supported"]
    assert all(0 < seconds < 2 for _, seconds in told)


def test_nothing_is_taken_from_the_environment(
    payment: PaymentPayload, closed_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would make "refused" mean something else."""
    monkeypatch.setenv("HTTP_PROXY", closed_url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with raw_server(answer(200, SETTLED)) as server:
        assert FacilitatorClient(server.url).settle(payment, OFFER, payer=PAYER.public_key).kind is PAID


@pytest.mark.parametrize("url", ["", "facilitator.example", "ftp://f.example", "http://"])
def test_a_url_that_is_none_stops_the_start(url: str) -> None:
    """Rather than the first settlement."""
    with pytest.raises(errors.ConfigurationError):
        FacilitatorClient(url)
