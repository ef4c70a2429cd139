"""A facilitator that dies between writing a transaction down and sending it, as a real process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests

from provider.errors import ConfigurationError
from provider.facilitator.attempts import Attempts, PaymentKey, State
from provider.facilitator.facilitator import Facilitator
from provider.facilitator.server import FacilitatorServer
from provider.payments.models import PaymentPayload
from provider.payments.stellar.check import identify_payment
from tests.support.localnet import PRICE, LocalNet, eventually, running_localnet

PENDING = "settlement_pending"


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[LocalNet]:
    with running_localnet(tmp_path / "own", manual=True, wait_seconds=0.5) as network:
        yield network


@contextmanager
def facilitator_process(
    net: LocalNet, state: Path, wait: int = 1
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [
        sys.executable,
        "-m",
        "provider.cli.main",
        "facilitator",
        "--rpc",
        net.chain.url,
        "--port",
        "0",
    ]
    options = ["--state", str(state), "--wait", str(wait), "--poll", "0.05"]
    environment = {**os.environ, "FACILITATOR_SECRET": net.secret}
    with subprocess.Popen(
        [*command, *options], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[2], process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_what_was_written_down_is_sent_after_a_restart(slow: LocalNet, tmp_path: Path) -> None:
    payment = slow.payment()
    slow.chain.faults.add("drop_send_request", count=None)
    pending = slow.settle(payment)
    slow.facilitator.stop()
    slow.chain.faults.clear()
    slow.start_facilitator()
    eventually(lambda: slow.state.queue)
    slow.state.close()
    settled = slow.settle(payment)
    assert (settled["success"], settled["transaction"]) == (True, pending["transaction"])


def test_a_facilitator_killed_before_sending_settles_the_same_transaction_in_its_next_life(
    slow: LocalNet, tmp_path: Path
) -> None:
    payment, state = slow.payment(), tmp_path / "state"
    slow.chain.faults.add("drop_send_request", count=None)
    with facilitator_process(slow, state) as (url, process):
        pending = slow.ask("/settle", payment, url).json()
        os.killpg(process.pid, signal.SIGKILL)
    assert pending["errorReason"] == PENDING
    assert slow.sent == []
    slow.chain.faults.clear()
    with facilitator_process(slow, state) as (url, _):
        eventually(lambda: slow.sent == [pending["transaction"]])
        slow.state.close()
        settled = slow.ask("/settle", payment, url).json()
    assert (settled["success"], slow.received) == (True, PRICE)


def test_a_facilitator_told_to_stop_ends_soon_and_cleanly(slow: LocalNet, tmp_path: Path) -> None:
    with facilitator_process(slow, tmp_path / "state") as (url, process), requests.Session() as session:
        session.get(url + "/healthz", timeout=5).raise_for_status()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_whoever_waits_hears_that_it_is_pending_when_the_facilitator_stops(
    slow: LocalNet, tmp_path: Path
) -> None:
    payment = slow.payment()
    with facilitator_process(slow, tmp_path / "state", wait=60) as (url, process):
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(slow.ask, "/settle", payment, url)
            eventually(lambda: slow.state.queue)
            process.send_signal(signal.SIGTERM)
            told = answer.result().json()
        assert process.wait(10) == 0
    assert (told["errorReason"], told["transaction"]) == (PENDING, slow.sent[0])


def test_a_channel_stays_taken_while_its_transaction_of_an_earlier_life_is_open(slow: LocalNet) -> None:
    slow.settle(slow.payment())
    slow.facilitator.stop()
    slow.start_facilitator()
    answer = slow.settle(slow.payment())
    assert answer["errorReason"] == "settle_exact_stellar_signer_selection_failed"
    slow.state.close()
    eventually(lambda: slow.facilitator.facilitator.health()["channels"]["idle"])


def test_two_facilitators_do_not_share_a_state_directory(slow: LocalNet) -> None:
    with pytest.raises(ConfigurationError, match="another facilitator"):
        Facilitator(slow.config())


def test_decided_attempts_are_forgotten_a_month_later_and_open_ones_never(slow: LocalNet) -> None:
    first, second = slow.payment(), slow.payment()
    slow.settle(first)
    slow.state.close()
    slow.settle(second)
    slow.facilitator.stop()
    attempts = Attempts(slow.config().state_dir)
    decided = [attempt.state for payment in (first, second) for attempt in attempts.of(key(payment))]
    attempts.forget(before=2**40)
    left = [attempt.state for payment in (first, second) for attempt in attempts.of(key(payment))]
    attempts.close()
    assert (decided, left) == ([State.SETTLED, State.OPEN], [State.OPEN])


def key(payment: PaymentPayload) -> PaymentKey:
    found = identify_payment(payment)
    return (found.network, found.asset, found.payer, found.nonce)


def test_wrong_options_are_told_all_at_once(slow: LocalNet) -> None:
    with pytest.raises(ConfigurationError) as caught:
        FacilitatorServer(slow.config(channels=0, max_fee=10, network="stellar:moon"))
    assert len(caught.value.problems) == 3
