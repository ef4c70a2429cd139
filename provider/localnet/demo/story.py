"""What happens in the demo, and what must be true afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from provider.localnet.demo.stranger import Answer, Json, Stranger

DECIMALS = 7

QR_CODE = {"text": "https://stellar.org", "scale": 2}
OPTION = {
    "spot": 100,
    "strike": 105,
    "rate": 0.03,
    "volatility": 0.2,
    "years": 1,
    "paths": 100_000,
    "units": 10,
    "seed": 7,
    "pace_seconds": 0.3,
}
UNSOLVABLE = {"grid": "11" + "." * 79}


class DemoFailed(Exception):
    """Something in the demo was not as promised."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story."""

    what: str
    answer: str
    tells: str
    charged: int = 0
    """Atomic units that this call cost the buyer."""
    new_act: bool = False


class Story:
    """Four purchases by a stranger. `watch` is told how a running job goes on."""

    def __init__(self, stranger: Stranger, watch: Callable[[str], None]) -> None:
        self._stranger = stranger
        self._watch = watch
        self._first: tuple[str, str] = ("", "")

    def lines(self) -> Iterator[Line]:
        """Play all acts."""
        yield from self._on_success()
        yield from self._upfront()
        yield from self._failing()
        yield from self._again()

    def _on_success(self) -> Iterator[Line]:
        """A quick service: quoted, paid, delivered with its receipt."""
        asked = self._ask("qr-code", QR_CODE)
        yield _quote("A quick service, charged on success: qr-code", asked)
        payment = self._sign(asked)
        paid = self._pay("qr-code", QR_CODE, payment, 200, "succeeded")
        self._first = (payment, paid.body["id"])
        png = len(paid.body["output"]["png"]) * 3 // 4
        yield Line(
            "The same call with a signed payment",
            _status(paid),
            f"a PNG of {png} bytes, and the receipt: transaction {_short(paid.receipt['transaction'])}",
            _price(asked),
        )

    def _upfront(self) -> Iterator[Line]:
        """A long service: paid first, then followed to its end."""
        asked = self._ask("monte-carlo", OPTION)
        yield _quote("A long service, charged upfront: monte-carlo", asked)
        paid = self._pay("monte-carlo", OPTION, self._sign(asked), 202, None)
        _expect(bool(paid.receipt), "the 202 carries the receipt of the upfront payment", paid)
        job_id = paid.body["id"]
        yield Line(
            "The same call with a signed payment",
            _status(paid),
            f"paid, and a place in the lane: job {_short_id(job_id)}",
            _price(asked),
        )
        job, seen = self._follow(job_id)
        _expect(job["status"] == "succeeded", "the long job succeeds", job)
        output = job["output"]
        result = (
            f"price {output['price']:.3f} ± {output['standard_error']:.3f} from {output['paths']:,} paths"
        )
        yield Line(f"GET /jobs/{_short_id(job_id)}, now and then", seen, result)

    def _follow(self, job_id: str) -> tuple[Json, str]:
        seen: list[str] = []
        job: Json = {"status": "unknown"}
        for job in self._stranger.follow(job_id):
            if not seen or seen[-1] != job["status"]:
                seen.append(job["status"])
            self._watch(_progress(job))
        return job, " → ".join(seen)

    def _failing(self) -> Iterator[Line]:
        """A job that cannot be done: the payment was signed, and is never used."""
        asked = self._ask("sudoku", UNSOLVABLE)
        yield _quote("A job that fails: a Sudoku without a solution", asked)
        before = self._stranger.balances()
        failed = self._pay("sudoku", UNSOLVABLE, self._sign(asked), 500, "failed")
        _expect(
            failed.body["error"]["charged"] is False, "a failed job says that nothing was charged", failed
        )
        _expect(self._stranger.balances() == before, "a failed job leaves the balances alone", before)
        yield Line(
            "The same call with a signed payment",
            _status(failed),
            f"{failed.body['error']['code']}, and nothing is charged",
        )

    def _again(self) -> Iterator[Line]:
        """The payment of the first act, sent again: as after a lost answer, and as a thief would."""
        payment, job_id = self._first
        again = self._pay("qr-code", QR_CODE, payment, 200, "succeeded")
        _expect(again.body["id"] == job_id, "the same payment gives the same job", again)
        yield Line(
            "The first payment once more: qr-code",
            _status(again),
            f"the same job {_short_id(job_id)}, charged once",
            new_act=True,
        )
        other = self._pay("qr-code", {"text": "something else"}, payment, 409, None)
        yield Line("The first payment for another text", _status(other), "refused, nothing runs")

    def _ask(self, service: str, value: Json) -> Answer:
        asked = self._stranger.call(service, value)
        _expect(
            asked.status == 402 and asked.offer is not None,
            "an unpaid call is answered with its price",
            asked,
        )
        return asked

    def _sign(self, asked: Answer) -> str:
        assert asked.offer is not None
        return self._stranger.sign(asked.offer)

    def _pay(self, service: str, value: Json, payment: str, status: int, state: str | None) -> Answer:
        paid = self._stranger.call(service, value, payment)
        _expect(paid.status == status, f"the call is answered with {status}", paid)
        _expect(state in (None, paid.body.get("status")), f"the job is {state}", paid)
        return paid


def _expect(holds: bool, promise: str, seen: Any) -> None:
    if not holds:
        raise DemoFailed(f"Promised: {promise}. Seen: {seen}")


def _quote(what: str, asked: Answer) -> Line:
    return Line(what, _status(asked), f"costs {usdc(_price(asked))}", new_act=True)


def _price(asked: Answer) -> int:
    assert asked.offer is not None
    return asked.offer.amount


def _status(answer: Answer) -> str:
    state = answer.body.get("status") if "id" in answer.body else None
    told = f" {state}" if isinstance(state, str) else ""
    return f"{answer.status}{told}, {answer.seconds:.1f} s"


def _progress(job: Json) -> str:
    progress = job.get("progress") or {}
    done, total = progress.get("done"), progress.get("total")
    return f"{job['status']} {done}/{total}" if done is not None and total else str(job["status"])


def usdc(atomic: int) -> str:
    """Write an amount for people: 0.005 USDC."""
    return f"{Decimal(atomic).scaleb(-DECIMALS).normalize():f} USDC"


def _short(text: str) -> str:
    return f"{text[:8]}…"


def _short_id(job_id: str) -> str:
    service, _, rest = job_id.rpartition(".")
    return f"{service}.{rest[:6]}…"
