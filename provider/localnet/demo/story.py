"""What happens in the demo, and what must be true afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from provider.localnet.demo.stranger import Answer, Json, Stranger
from provider.networks import token_units

PICTURE = {"text": "https://stellar.org", "scale": 20}
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


class Story:
    """Four purchases by a stranger. `watch` is called with the states of a running job."""

    def __init__(self, stranger: Stranger, watch: Callable[[str], None]) -> None:
        self._stranger = stranger
        self._watch = watch
        self._first: tuple[str, str] = ("", "")

    def acts(self) -> dict[str, Iterator[Line]]:
        """Give the acts in their order, each played when its lines are read."""
        return {
            "A quick job, charged on success": self._on_success(),
            "A long job, charged upfront": self._upfront(),
            "A job that fails": self._failing(),
            "The same payment, sent again": self._again(),
        }

    def _on_success(self) -> Iterator[Line]:
        """A quick service: quoted, paid, delivered with its receipt."""
        asked = self._ask("identicon", PICTURE)
        yield _quote("identicon", asked)
        payment = self._sign(asked)
        paid = self._pay("identicon", PICTURE, payment, 200, "succeeded")
        self._first = (payment, paid.body["id"])
        yield Line(
            "  with a signed payment",
            _status(paid),
            f"a PNG; receipt {_short(paid.receipt['transaction'])}",
            _price(asked),
        )

    def _upfront(self) -> Iterator[Line]:
        """A long service: paid first, then followed to its end."""
        asked = self._ask("monte-carlo", OPTION)
        yield _quote("monte-carlo", asked)
        paid = self._pay("monte-carlo", OPTION, self._sign(asked), 202, None)
        _expect(bool(paid.receipt), "the 202 carries the receipt of the upfront payment", paid)
        job_id = paid.body["id"]
        yield Line(
            "  with a signed payment",
            _status(paid),
            f"receipt {_short(paid.receipt['transaction'])}",
            _price(asked),
        )
        job, seen = self._follow(job_id)
        _expect(job["status"] == "succeeded", "the long job succeeds", job)
        output = job["output"]
        result = (
            f"price {output['price']:.3f} ± {output['standard_error']:.3f} from {output['paths']:,} paths"
        )
        yield Line("  GET /jobs/<id>, repeatedly", seen, result)

    def _follow(self, job_id: str) -> tuple[Json, str]:
        """Look until the job is final; return its statuses and its progress at each look."""
        looks: dict[str, list[str]] = {}
        job: Json = {"status": "unknown"}
        for job in self._stranger.follow(job_id):
            looks.setdefault(job["status"], []).extend(_progress(job))
            self._watch(" ".join([job["status"], *_progress(job)]))
        return job, " → ".join(_seen(status, steps) for status, steps in looks.items())

    def _failing(self) -> Iterator[Line]:
        """A job that cannot be done: the payment was signed, and is never used."""
        asked = self._ask("sudoku", UNSOLVABLE)
        yield _quote("sudoku", asked)
        before = self._stranger.balances()
        failed = self._pay("sudoku", UNSOLVABLE, self._sign(asked), 500, "failed")
        _expect(
            failed.body["error"]["charged"] is False, "a failed job says that nothing was charged", failed
        )
        _expect(self._stranger.balances() == before, "a failed job leaves the balances alone", before)
        yield Line(
            "  with a signed payment",
            _status(failed),
            "the grid has no solution",
        )

    def _again(self) -> Iterator[Line]:
        """The payment of the first act, sent again: as after a lost answer, and as a thief would."""
        payment, job_id = self._first
        again = self._pay("identicon", PICTURE, payment, 200, "succeeded")
        _expect(again.body["id"] == job_id, "the same payment gives the same job", again)
        yield Line(
            "identicon, first payment",
            _status(again),
            "the same job and receipt",
        )
        other = self._pay("identicon", {"text": "something else"}, payment, 409, None)
        yield Line("  for another text", _status(other), "refused, nothing runs")

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


def _quote(service: str, asked: Answer) -> Line:
    return Line(f"POST /run/{service}", _status(asked), f"costs {usdc(_price(asked))}")


def _price(asked: Answer) -> int:
    assert asked.offer is not None
    return asked.offer.amount


def _status(answer: Answer) -> str:
    state = answer.body.get("status") if "id" in answer.body else None
    shown = f" {state}" if isinstance(state, str) else ""
    return f"{answer.status}{shown}, {answer.seconds:.1f} s"


def _progress(job: Json) -> list[str]:
    """Describe the progress of a running job."""
    progress = job.get("progress") or {}
    known = job["status"] == "running" and progress.get("total")
    return [f"{progress['done']}/{progress['total']}"] if known else []


def _seen(status: str, steps: list[str]) -> str:
    different = list(dict.fromkeys(steps))
    return " ".join([status, *different[:1], *(["…", different[-1]] if len(different) > 1 else [])])


def usdc(atomic: int) -> str:
    """Write an amount for people: 0.005 USDC."""
    return f"{token_units(atomic)} USDC"


def _short(text: str) -> str:
    return f"{text[:8]}…"
