"""Price a European call option by simulation, unit by unit, so that a killed job goes on where it was."""

import math
from random import Random
from typing import Any

from provider.services import Context, TransientError

SUMS = "sums"
"""The one unit that stays open; its cursor carries what the finished units add up to."""


def price(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Simulate `units` equal parts of the paths, with a pause after each."""
    units = min(int(payload["units"]), int(payload["paths"]))
    per_unit = int(payload["paths"]) // units
    done, total, squares = context.cursors.get(SUMS, (0, 0.0, 0.0))
    for unit in range(done, units):
        payoffs = _payoffs(payload, Random(f"{payload['seed']}:{unit}"), per_unit)
        total, squares = total + sum(payoffs), squares + sum(payoff * payoff for payoff in payoffs)
        context.checkpoint(SUMS, [unit + 1, total, squares])
        context.progress(unit + 1, units)
        if context.cancelled.wait(payload["pace_seconds"]):
            raise TransientError("stopped before the last unit")
    return _estimate(units * per_unit, total, squares)


def _payoffs(payload: dict[str, Any], random: Random, count: int) -> list[float]:
    """Draw prices at the end by geometric Brownian motion; what each pays, discounted to today."""
    years, volatility = payload["years"], payload["volatility"]
    drift = (payload["rate"] - volatility**2 / 2) * years
    diffusion, discount = volatility * math.sqrt(years), math.exp(-payload["rate"] * years)
    ends = (payload["spot"] * math.exp(drift + diffusion * random.gauss(0, 1)) for _ in range(count))
    return [discount * max(end - payload["strike"], 0.0) for end in ends]


def _estimate(paths: int, total: float, squares: float) -> dict[str, Any]:
    mean = total / paths
    variance = max(squares / paths - mean * mean, 0.0)
    return {"price": mean, "standard_error": math.sqrt(variance / paths), "paths": paths}
