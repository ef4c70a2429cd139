"""The pool of connections to a facilitator (`provider.payments.kept`)."""

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from provider import errors
from provider.payments import kept
from provider.payments.facilitator import FacilitatorClient
from provider.payments.models import PaymentPayload
from tests.support.odd_answers import OFFER, PAYER
from tests.support.payments import signed_payment
from tests.support.processes import wait_until
from tests.support.raw_http import answer, raw_server


@pytest.fixture(scope="module")
def payment() -> PaymentPayload:
    return signed_payment(OFFER, PAYER, 1_000_031)


def test_threads_share_the_connections_but_never_one_at_a_time(payment: PaymentPayload) -> None:
    """Answers would be mixed up. A greenlet a request would otherwise mean a connection a request."""
    with raw_server(answer(200, {"isValid": True})) as server:
        client = FacilitatorClient(server.url)
        start = threading.Barrier(4)

        def ask() -> None:
            start.wait()
            for _ in range(5):
                assert client.verify(payment, OFFER).valid

        for _ in range(2):
            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(server.requests) == 40
        assert server.connections <= 4


def test_an_answer_that_comes_after_its_time_is_no_answer_to_the_next_call(payment: PaymentPayload) -> None:
    """A connection that was given up on is closed before it goes back to the pool."""
    late = threading.Event()

    def behave(connection: socket.socket) -> None:
        if not late.is_set():
            late.set()
            time.sleep(0.5)
            answer(200, {"isValid": True})(connection)
        else:
            answer(200, {"isValid": False, "invalidReason": "no"})(connection)

    with raw_server(behave) as server:
        client = FacilitatorClient(server.url, verify_timeout_seconds=0.3)
        with pytest.raises(errors.FacilitatorUnreachable):
            client.verify(payment, OFFER)
        assert not client.verify(payment, OFFER).valid


def test_a_server_that_answers_nothing_gets_no_more_than_so_many_calls(
    payment: PaymentPayload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others fail without a connection of their own, and are served once it answers again."""
    monkeypatch.setattr(kept, "MOST_CONNECTIONS", 4)
    monkeypatch.setattr(kept, "MOST_WAIT_SECONDS", 0.2)
    speak = threading.Event()

    def behave(connection: socket.socket) -> None:
        speak.wait(10)
        answer(200, {"isValid": True})(connection)

    with raw_server(behave) as server:
        client = FacilitatorClient(server.url, verify_timeout_seconds=5)
        with ThreadPoolExecutor(4) as first:
            waiting = [first.submit(client.verify, payment, OFFER) for _ in range(4)]
            assert wait_until(lambda: len(server.requests) == 4)
            with pytest.raises(errors.FacilitatorUnreachable):
                client.verify(payment, OFFER)
            speak.set()
            assert all(call.result().valid for call in waiting)
        assert client.verify(payment, OFFER).valid
        assert server.connections == 4


def test_a_forked_process_does_not_share_the_connection(payment: PaymentPayload) -> None:
    """Workers fork after the client was made."""
    with raw_server(answer(200, {"isValid": True})) as server:
        client = FacilitatorClient(server.url)
        client.verify(payment, OFFER)
        child = os.fork()
        if child == 0:
            os._exit(0 if client.verify(payment, OFFER).valid else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert client.verify(payment, OFFER).valid
        assert server.connections == 2
