"""`provider pay`, as a user of the shell meets it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from provider.cli.pay import command
from provider.client import Journal
from tests.support.localnet import LocalNet
from tests.support.seller import DROP, HASH, MOVED, Seller, job, problem, settled

DONE = job("succeeded", output={"text": "hi"}, payment={"transaction": HASH})
PNG = b"\x89PNG\xff"


@pytest.fixture
def seller(net: LocalNet, seller: Seller) -> Seller:
    seller.offer(net.requirements(50_000))
    seller.paid = [DONE]
    return seller


@pytest.fixture
def dev_json(net: LocalNet, seller: Seller, tmp_path: Path) -> Path:
    """What `provider dev` would have written."""
    written = {
        "web_url": seller.url,
        "rpc_url": net.chain.url,
        "buyer_secret": net.buyer.secret,
        "ledger_seconds": 5,
    }
    file = tmp_path / "dev.json"
    file.write_text(json.dumps(written))
    return file


def pay(dev_json: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["/run/x", "--dev-json", str(dev_json), "--wait", "1", *arguments])


def test_the_output_is_printed_and_what_it_cost_beside_it(dev_json: Path) -> None:
    done = pay(dev_json, "--data", '{"text": "hi"}')
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"text": "hi"}
    assert "succeeded  0.005 USDC" in done.stderr
    assert HASH in done.stderr


def test_json_has_everything_at_once(dev_json: Path) -> None:
    found = json.loads(pay(dev_json, "--json").stdout)
    assert (found["price"], found["transaction"], found["job"]["status"]) == ("0.005", HASH, "succeeded")
    assert (found["outcome"], found["output"], found["verified"]) == ("delivered", {"text": "hi"}, False)


def test_the_body_may_come_from_a_file(dev_json: Path, seller: Seller, tmp_path: Path) -> None:
    file = tmp_path / "input.json"
    file.write_text('{"a": 1}')
    assert pay(dev_json, "--data", f"@{file}").exit_code == 0
    assert seller.seen[-1]["body"] == b'{"a": 1}'


def test_a_secret_may_come_from_a_variable_of_ones_choice(
    net: LocalNet, seller: Seller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_SECRET", net.buyer.secret)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = ["--secret-env", "MY_SECRET", "--rpc", net.chain.url]
    assert CliRunner().invoke(command, [f"{seller.url}/run/x", *options]).exit_code == 0
    [entry] = Journal(tmp_path / "state/provider/payments.jsonl").entries()
    assert entry.payment.header == seller.payments[0]


@pytest.mark.parametrize(
    ("paid", "status", "shown"),
    [
        (job("failed", 500, error={"code": "service_failed", "charged": False}), 1, "Nothing was charged"),
        (problem(400, "text is missing"), 1, "text is missing"),
        (job("running", 202, MOVED), 3, "/jobs/x.1"),
        (problem(503), 3, "--resume"),
        (DROP, 3, "--resume"),
        (job("running", 202, {**MOVED, **settled()}), 4, "--resume"),
        ((500, settled(), b"no"), 4, HASH),
        ((200, {**settled(), "Content-Length": "99"}, b"the beginning"), 4, "the beginning"),
        (job("failed", 500, error={"code": "timeout", "charged": True}), 4, "It was paid for"),
    ],
    ids=[
        "failed",
        "refused",
        "running",
        "busy",
        "silent",
        "running, paid",
        "error, paid",
        "cut",
        "failed, paid",
    ],
)
def test_the_exit_status_says_what_became_of_the_money(
    dev_json: Path, seller: Seller, paid: Any, status: int, shown: str
) -> None:
    """Red before for the paid ones: they ended with a traceback, or with 1 as if nothing was paid."""
    seller.paid = [paid]
    done = pay(dev_json)
    assert (done.exit_code, done.exception.__class__) == (status, SystemExit)
    assert shown in done.stderr


@pytest.mark.parametrize("body", [PNG, b"<html>", b"[" * 50_000])
def test_what_a_stranger_delivers_is_printed_as_it_is(dev_json: Path, seller: Seller, body: bytes) -> None:
    seller.paid = [(200, settled(), body)]
    done = pay(dev_json)
    assert (done.exit_code, done.stdout_bytes.strip()) == (0, body)


def test_the_receipt_has_payment_and_answer(dev_json: Path, seller: Seller, tmp_path: Path) -> None:
    seller.paid = [(500, settled(), b"\xffno")]
    file = tmp_path / "receipts.jsonl"
    assert pay(dev_json, "--receipt", str(file)).exit_code == 4
    line = json.loads(file.read_text())
    assert (line["outcome"], line["paid"]["transaction"]) == ("answer_missing", HASH)
    assert (line["payment"]["header"], line["answer"]["base64"]) == (seller.payments[0], "/25v")


def test_an_open_payment_is_gone_on_with(dev_json: Path, seller: Seller) -> None:
    seller.paid = [job("running", 202, MOVED)]
    assert pay(dev_json).exit_code == 3
    seller.paid = [DONE]
    done = CliRunner().invoke(command, ["--resume", "--dev-json", str(dev_json)])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"text": "hi"}
    assert len(set(seller.payments)) == 1
    again = CliRunner().invoke(command, ["--resume", "--json", "--dev-json", str(dev_json)])
    assert (again.exit_code, json.loads(again.stdout)) == (0, [])
    assert "No payment is open" in again.stderr


@pytest.mark.parametrize("option", ["--budget", "--day-budget"])
def test_a_budget_holds_from_one_run_to_the_next(dev_json: Path, seller: Seller, option: str) -> None:
    assert pay(dev_json, option, "0.009").exit_code == 0
    done = pay(dev_json, option, "0.009")
    assert done.exit_code == 1
    assert "is spent or reserved" in done.stderr
    assert len(seller.payments) == 1


def test_it_asks_before_it_pays(dev_json: Path, seller: Seller) -> None:
    arguments = ["/run/x", "--dev-json", str(dev_json), "--ask"]
    refused = CliRunner().invoke(command, arguments, input="n\n")
    assert (refused.exit_code, seller.payments) == (1, [])
    assert "Pay 0.005 USDC to G" in refused.stderr
    assert CliRunner().invoke(command, arguments, input="y\n").exit_code == 0


def test_progress_is_shown_while_it_waits(dev_json: Path, seller: Seller) -> None:
    queue = {"position": 2, "estimatedStartSeconds": 40}
    waiting = [
        job("queued", 202, MOVED, queue=queue),
        job("running", 202, MOVED, progress={"done": 1, "total": 9}),
    ]
    seller.paid = [*waiting, DONE]
    lines = pay(dev_json, "--wait", "30").stderr.splitlines()
    assert lines[:2] == ["queued  position 2, start in 40 s", "running  1/9"]


def test_a_price_beyond_the_limit_is_not_paid(dev_json: Path, seller: Seller) -> None:
    done = pay(dev_json, "--max-price", "0.001")
    assert done.exit_code == 1
    assert seller.payments == []


@pytest.mark.parametrize(
    "arguments",
    [["--data", "{"], ["--max-price", "much"], ["--budget", "-1"], ["--secret-env", "NOT_SET"]],
)
def test_wrong_arguments_are_refused_before_anything_is_called(
    dev_json: Path, seller: Seller, arguments: list[str]
) -> None:
    assert pay(dev_json, *arguments).exit_code == 2
    assert seller.seen == []


def test_a_journal_that_cannot_be_written_is_refused_before_anything_is_called(
    dev_json: Path, seller: Seller
) -> None:
    done = pay(dev_json, "--journal", "/dev/null/payments.jsonl")
    assert done.exit_code == 2
    assert seller.seen == []


@pytest.mark.parametrize("url", ["run/x", "ftp://127.0.0.1/run/x"])
def test_an_address_that_cannot_be_called_is_refused_at_once(dev_json: Path, url: str) -> None:
    done = CliRunner().invoke(command, [url, "--dev-json", str(dev_json)])
    assert done.exit_code == 2
    assert "http://" in done.stderr


def test_without_an_address_there_is_nothing_to_do(dev_json: Path) -> None:
    done = CliRunner().invoke(command, ["--dev-json", str(dev_json)])
    assert done.exit_code == 2
    assert "--resume" in done.stderr


def test_a_file_that_is_missing_is_not_called_wrong_json(dev_json: Path) -> None:
    assert "missing.json: No such file" in pay(dev_json, "--data", "@missing.json").stderr


def test_a_seller_that_wants_no_money_is_shown_as_one(dev_json: Path, seller: Seller) -> None:
    seller.unpaid = [(200, {}, {"free": True})]
    done = pay(dev_json)
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"free": True})
    assert "No payment was asked" in done.stderr
