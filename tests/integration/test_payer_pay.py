"""`provider pay`, as a user of the shell meets it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from provider.cli.pay import command
from tests.support.localnet import LocalNet, running_localnet
from tests.support.seller import Seller, job, problem, running_seller

DONE = job("succeeded", output={"text": "hi"}, payment={"transaction": "ab" * 32})


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    with running_localnet(manual=True) as network:
        yield network


@pytest.fixture
def seller(net: LocalNet) -> Iterator[Seller]:
    with running_seller() as server:
        server.offer(net.requirements(50_000))
        server.paid = [DONE]
        yield server


@pytest.fixture
def dev_json(net: LocalNet, seller: Seller, tmp_path: Path) -> Path:
    """What `provider dev` would have written."""
    told = {
        "web_url": seller.url,
        "rpc_url": net.chain.url,
        "buyer_secret": net.buyer.secret,
        "ledger_seconds": 5,
    }
    file = tmp_path / "dev.json"
    file.write_text(json.dumps(told))
    return file


def pay(dev_json: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["/run/x", "--dev-json", str(dev_json), *arguments])


def test_the_output_is_printed_and_what_it_cost_beside_it(dev_json: Path) -> None:
    done = pay(dev_json, "--data", '{"text": "hi"}')
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"text": "hi"}
    assert "succeeded  0.005 USDC" in done.stderr


def test_json_tells_everything_at_once(dev_json: Path) -> None:
    told = json.loads(pay(dev_json, "--json").stdout)
    assert (told["price"], told["transaction"], told["answer"]["status"]) == ("0.005", "ab" * 32, "succeeded")


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
    options = ["--secret-env", "MY_SECRET", "--rpc", net.chain.url]
    assert CliRunner().invoke(command, [f"{seller.url}/run/x", *options]).exit_code == 0


@pytest.mark.parametrize(
    ("paid", "status", "told"),
    [
        (
            job("failed", 500, error={"code": "service_failed", "message": "No.", "charged": False}),
            1,
            "not charged",
        ),
        (job("running", 202, {"Location": "/jobs/qr-code.1"}), 3, "/jobs/qr-code.1"),
        (problem(503), 3, "PAYMENT-SIGNATURE: "),
    ],
    ids=["failed", "running", "silent"],
)
def test_the_exit_status_tells_what_became_of_it(
    dev_json: Path, seller: Seller, paid: Any, status: int, told: str
) -> None:
    seller.paid = [paid]
    done = pay(dev_json, "--wait", "1")
    assert done.exit_code == status
    assert told in done.stderr


def test_a_price_beyond_the_limit_is_not_paid(dev_json: Path, seller: Seller) -> None:
    done = pay(dev_json, "--max-price", "0.001")
    assert done.exit_code == 1
    assert seller.payments == []


@pytest.mark.parametrize("arguments", [["--data", "{"], ["--max-price", "much"], ["--secret-env", "NOT_SET"]])
def test_wrong_arguments_are_told_before_anything_is_called(
    dev_json: Path, seller: Seller, arguments: list[str]
) -> None:
    assert pay(dev_json, *arguments).exit_code == 2
    assert seller.seen == []


@pytest.mark.parametrize("url", ["run/x", "ftp://127.0.0.1/run/x"])
def test_an_address_that_cannot_be_called_is_told_at_once(dev_json: Path, url: str) -> None:
    done = CliRunner().invoke(command, [url, "--dev-json", str(dev_json)])
    assert done.exit_code == 2
    assert "http://" in done.stderr


def test_a_file_that_is_missing_is_not_called_wrong_json(dev_json: Path) -> None:
    assert "missing.json: No such file" in pay(dev_json, "--data", "@missing.json").stderr


def test_a_failed_job_promises_no_transaction(dev_json: Path, seller: Seller) -> None:
    seller.paid = [
        job("failed", 500, error={"code": "service_failed", "message": "No.", "charged": False}),
    ]
    assert "transaction none\n" in pay(dev_json).stderr
