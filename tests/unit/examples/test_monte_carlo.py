import math
import time
from statistics import NormalDist
from typing import Any

import pytest

from examples import monte_carlo
from provider.errors import TransientError
from provider.services.testing import LocalContext

OPTION = {"spot": 100, "strike": 105, "rate": 0.03, "volatility": 0.2, "years": 1.0}


class Killed(Exception):
    """The worker died."""


class DyingContext(LocalContext):
    """Dies once, right after or right before a checkpoint is stored."""

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        if self.job_id == "dies-before" and cursor["blocks"] == 4:
            raise Killed
        super().checkpoint(unit, cursor)
        if self.job_id == "dies-after" and cursor["blocks"] == 4:
            raise Killed


def simulate(context: LocalContext | None = None, **changes: Any) -> dict[str, Any]:
    payload = {**OPTION, "paths": 2000, "units": 7, "seed": 3, **changes}
    return monte_carlo.price_option(payload, context or LocalContext())


def black_scholes_call(spot: float, strike: float, rate: float, volatility: float, years: float) -> float:
    normal, deviation = NormalDist(), volatility * math.sqrt(years)
    first = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / deviation
    return spot * normal.cdf(first) - strike * math.exp(-rate * years) * normal.cdf(first - deviation)


def test_a_european_call_agrees_with_black_and_scholes() -> None:
    output = simulate(paths=100_000)
    assert output["price"] == pytest.approx(black_scholes_call(**OPTION), abs=4 * output["standard_error"])
    assert output["standard_error"] < 0.05


def test_puts_and_calls_are_in_parity() -> None:
    call, put = (simulate(paths=100_000, kind=kind)["price"] for kind in ("call", "put"))
    assert call - put == pytest.approx(100 - 105 * math.exp(-0.03), abs=0.1)


def test_an_asian_option_of_one_step_is_a_european_one() -> None:
    assert simulate(style="asian", steps=1) == simulate(style="european")


def test_an_asian_call_is_cheaper_than_a_european_one() -> None:
    assert simulate(style="asian")["price"] < simulate()["price"]


def test_without_volatility_the_price_is_certain() -> None:
    output = simulate(volatility=0, strike=90)
    assert output["price"] == pytest.approx(100 - 90 * math.exp(-0.03))
    assert output["standard_error"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("death", ["dies-before", "dies-after"])
@pytest.mark.parametrize("style", ["european", "asian"])
def test_a_killed_simulation_gives_the_same_digits_as_one_that_ran_through(death: str, style: str) -> None:
    context = DyingContext(job_id=death)
    with pytest.raises(Killed):
        simulate(context, style=style)
    context.job_id = "lives"
    assert simulate(context.next_attempt(), style=style) == simulate(style=style)


@pytest.mark.parametrize(("death", "again"), [("dies-before", 1), ("dies-after", 0)])
def test_a_kill_costs_one_block_at_most(monkeypatch: pytest.MonkeyPatch, death: str, again: int) -> None:
    computed: list[int] = []
    original = monte_carlo._with_block

    def counting(sums: monte_carlo.Sums, *rest: Any) -> monte_carlo.Sums:
        computed.append(sums.blocks)
        return original(sums, *rest)

    monkeypatch.setattr(monte_carlo, "_with_block", counting)
    context = DyingContext(job_id=death)
    with pytest.raises(Killed):
        simulate(context)
    context.job_id = "lives"
    simulate(context.next_attempt())
    assert len(computed) == 7 + again
    assert set(computed) == set(range(7))


@pytest.mark.parametrize(("paths", "units"), [(2, 200), (1000, 7), (14, 7), (12, 200)])
def test_every_path_is_simulated_once_however_the_work_is_cut(paths: int, units: int) -> None:
    context = LocalContext()
    assert simulate(context, paths=paths, units=units)["paths"] == paths
    assert len(context.reports) == min(units, paths // 2)


def test_progress_counts_blocks() -> None:
    context = LocalContext()
    simulate(context)
    assert [(done, total) for done, total, _ in context.reports] == [(block, 7) for block in range(1, 8)]


def test_the_seed_decides_the_result() -> None:
    assert simulate(seed=1) == simulate(seed=1) != simulate(seed=2)


def test_a_cancelled_simulation_stops_before_it_computes_anything() -> None:
    context = LocalContext()
    context.cancelled.set()
    with pytest.raises(TransientError):
        simulate(context)
    assert context.cursors == {}


def test_a_pause_between_blocks_ends_at_once_when_cancelled() -> None:
    context = LocalContext()
    original = context.cancelled.wait
    context.cancelled.wait = lambda timeout=None: context.cancelled.set() or original(timeout)  # type: ignore
    started = time.monotonic()
    with pytest.raises(TransientError):
        simulate(context, pace_seconds=10)
    assert time.monotonic() - started < 5
    assert context.cursors["blocks"]["blocks"] == 1
