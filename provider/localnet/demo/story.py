"""What happens in the demo, and what must be true afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from provider.localnet.demo.visit import DemoFailed, Json, Visit
from provider.networks import TOKEN_DECIMALS, token_units

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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story."""

    what: str
    answer: str
    tells: str
    charged: int = 0
    """Atomic units that this call cost the buyer."""


class Story:
    """Four purchases by a stranger. `watch` is shown how a running job goes on."""

    def __init__(self, visit: Visit, watch: Callable[[str], None]) -> None:
        self._visit = visit
        self._watch = watch
        self._first: Json = {}

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
        quote, _, end = self._buy("identicon", PICTURE)
        yield _quoted("identicon", quote)
        _expect(
            end["outcome"] == "delivered" and end["verified"], "a paid picture, its payment on chain", end
        )
        self._first = end
        receipt = f"a PNG; receipt {_short(end['transaction'])}"
        yield Line("  with a signed payment", _status(end), receipt, _price(quote))

    def _upfront(self) -> Iterator[Line]:
        """A long service: paid first, then followed to its end."""
        quote, jobs, end = self._buy("monte-carlo", OPTION)
        yield _quoted("monte-carlo", quote)
        paid = jobs[0] if jobs else end
        _expect("payment" in paid["job"], "the first answer carries the receipt of the upfront payment", paid)
        receipt = f"receipt {_short(paid['job']['payment']['transaction'])}"
        yield Line("  with a signed payment", _status({**paid, "status": 202}), receipt, _price(quote))
        _expect(end["outcome"] == "delivered" and end["verified"], "the long job succeeds", end)
        output = end["job"]["output"]
        result = (
            f"price {output['price']:.3f} ± {output['standard_error']:.3f} from {output['paths']:,} paths"
        )
        yield Line("  GET /jobs/<id>/events", _course([*jobs, end]), result)

    def _failing(self) -> Iterator[Line]:
        """A job that cannot be done: the payment was signed, and is never used."""
        before = self._visit.balances()
        quote, _, end = self._buy("sudoku", UNSOLVABLE)
        yield _quoted("sudoku", quote)
        _expect(end["outcome"] == "job_failed", "a failed job is known for one that was not charged", end)
        _expect(self._visit.balances() == before, "a failed job leaves the balances alone", before)
        yield Line("  with a signed payment", _status(end), "the grid has no solution")

    def _again(self) -> Iterator[Line]:
        """The payment of the first act, sent again: as after a lost answer, and as a thief would."""
        again = self._visit.send_again(self._first["payment"], PICTURE)
        _expect(again["job"] == self._first["job"], "the same payment gives the same job", again)
        yield Line("identicon, first payment", _status(again), "the same job and receipt")
        other = self._visit.send_again(self._first["payment"], {"text": "something else"})
        _expect(other["status"] == 409, "a payment buys one thing", other)
        yield Line("  for another text", _status(other), "refused, nothing runs")

    def _buy(self, service: str, value: Json) -> tuple[Json, list[Json], Json]:
        """Have a call bought; returns what it costs, how its job went on, and how it ended."""
        quote, jobs = None, []
        for report in self._visit.buy(service, value):
            if report["event"] == "quote":
                quote = report
            if report["event"] == "job":
                jobs.append(report)
                self._watch(" ".join([report["job"]["status"], *_progress(report["job"])]))
        _expect(quote is not None, "an unpaid call is answered with its price", report)
        assert quote is not None
        return quote, jobs, report


def _expect(holds: bool, promise: str, seen: Any) -> None:
    if not holds:
        raise DemoFailed(f"Promised: {promise}. Seen: {seen}")


def _quoted(service: str, quote: Json) -> Line:
    return Line(f"POST /run/{service}", f"402, {quote['seconds']:.1f} s", f"costs {quote['price']} USDC")


def _price(quote: Json) -> int:
    return int(Decimal(quote["price"]).scaleb(TOKEN_DECIMALS))


def _status(report: Json) -> str:
    state = f" {report['job']['status']}" if report["job"] else ""
    return f"{report['status']}{state}, {report['seconds']:.1f} s"


def _course(reports: list[Json]) -> str:
    """Name the statuses of a job, each with how far it was seen to come."""
    seen: dict[str, list[str]] = {}
    for report in reports:
        seen.setdefault(report["job"]["status"], []).extend(_progress(report["job"]))
    return " → ".join(_seen(status, steps) for status, steps in seen.items())


def _progress(job: Json) -> list[str]:
    """How far a running job is, if it says so."""
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
