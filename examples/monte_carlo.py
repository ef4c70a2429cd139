"""Price options by simulation, block by block, so that a killed job goes on where it was.

The stock follows geometric Brownian motion; every draw is used twice, with both signs (antithetic
variates). A block has a random generator of its own, seeded by the job's seed and the block's number,
and blocks are added up in order: an interrupted job gives the same digits as one that ran through.
"""

import math
from dataclasses import asdict, dataclass, fields
from random import Random
from typing import Any

from provider.services import Context, JsonSchema, TransientError

BLOCKS = "blocks"
_PAIRS_BETWEEN_LOOKS = 1000
_Z_95 = 1.959964

INPUT: JsonSchema = {
    "type": "object",
    "properties": {
        "spot": {"type": "number", "exclusiveMinimum": 0, "maximum": 1e9},
        "strike": {"type": "number", "exclusiveMinimum": 0, "maximum": 1e9},
        "rate": {"type": "number", "minimum": -1, "maximum": 1, "description": "a year, continuous"},
        "volatility": {"type": "number", "minimum": 0, "maximum": 2, "description": "a year"},
        "years": {"type": "number", "exclusiveMinimum": 0, "maximum": 50},
        "kind": {"enum": ["call", "put"], "default": "call"},
        "style": {"enum": ["european", "asian"], "default": "european"},
        "steps": {
            "type": "integer",
            "minimum": 1,
            "maximum": 252,
            "default": 12,
            "description": "prices that the mean of an Asian option is taken over",
        },
        "paths": {
            "type": "integer",
            "minimum": 2,
            "maximum": 1_000_000,
            "multipleOf": 2,
            "default": 100_000,
        },
        "units": {
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "default": 10,
            "description": "blocks that the work is saved after",
        },
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0},
        "pace_seconds": {
            "type": "number",
            "minimum": 0,
            "maximum": 10,
            "default": 0,
            "description": "pause after each block, to watch a long job in a demonstration",
        },
    },
    "required": ["spot", "strike", "rate", "volatility", "years"],
    "additionalProperties": False,
}

OUTPUT: JsonSchema = {
    "type": "object",
    "properties": {
        "price": {"type": "number", "minimum": 0},
        "standard_error": {"type": "number", "minimum": 0},
        "confidence_95": {
            "type": "object",
            "properties": {"low": {"type": "number"}, "high": {"type": "number"}},
            "required": ["low", "high"],
        },
        "paths": {"type": "integer", "minimum": 2},
    },
    "required": ["price", "standard_error", "confidence_95", "paths"],
}

EXAMPLE = {
    "spot": 100,
    "strike": 105,
    "rate": 0.03,
    "volatility": 0.2,
    "years": 1,
    "paths": 20_000,
    "seed": 7,
}


@dataclass(frozen=True)
class Option:
    """A European option, or an Asian one on the mean of `steps` equally spaced prices."""

    spot: float
    strike: float
    rate: float
    volatility: float
    years: float
    kind: str = "call"
    style: str = "european"
    steps: int = 12

    def payoff(self, price: float) -> float:
        """Return what the option pays when the price (or the mean price) is this, discounted to today."""
        gain = price - self.strike if self.kind == "call" else self.strike - price
        return max(gain, 0.0) * math.exp(-self.rate * self.years)


@dataclass(frozen=True)
class Sums:
    """What the finished blocks add up to: all that the rest of the work needs of them."""

    blocks: int = 0
    pairs: int = 0
    total: float = 0.0
    squares: float = 0.0


def price_option(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Simulate `units` blocks of paths and estimate the price.

    A completed unit keeps no result (R5), so all blocks are steps of one unit that stays open: its cursor
    carries their number and their sums in one write. A crash lies before or after that write, never
    within, so each block is computed once, and once more at most for each time the job was killed.
    """
    option = Option(**{field.name: payload[field.name] for field in fields(Option) if field.name in payload})
    # JSON Schema takes 10.0 for an integer as well.
    pairs, seed = int(payload.get("paths", 100_000)) // 2, int(payload.get("seed", 0))
    units = min(int(payload.get("units", 10)), pairs)
    sums = Sums(**context.cursors.get(BLOCKS, {}))
    for block in range(sums.blocks, units):
        random = Random(f"{seed}:{block}")
        sums = _with_block(sums, option, random, pairs * (block + 1) // units - sums.pairs, context)
        context.checkpoint(BLOCKS, asdict(sums))
        context.progress(block + 1, units, f"{2 * sums.pairs} of {2 * pairs} paths")
        if block + 1 < units:
            _pause(payload.get("pace_seconds", 0), context)
    return _estimate(sums)


def _with_block(sums: Sums, option: Option, random: Random, pairs: int, context: Context) -> Sums:
    total, squares = 0.0, 0.0
    for number in range(pairs):
        if number % _PAIRS_BETWEEN_LOOKS == 0:
            _pause(0, context)
        sample = _antithetic_payoff(option, random)
        total += sample
        squares += sample * sample
    return Sums(sums.blocks + 1, sums.pairs + pairs, sums.total + total, sums.squares + squares)


def _antithetic_payoff(option: Option, random: Random) -> float:
    steps = int(option.steps) if option.style == "asian" else 1
    draws = [random.gauss(0.0, 1.0) for _ in range(steps)]
    mirrored = [-draw for draw in draws]
    return (option.payoff(_mean_price(option, draws)) + option.payoff(_mean_price(option, mirrored))) / 2


def _mean_price(option: Option, draws: list[float]) -> float:
    """Walk the stock through the draws and return the mean of its prices, the start left out."""
    years = option.years / len(draws)
    drift = (option.rate - option.volatility**2 / 2) * years
    diffusion = option.volatility * math.sqrt(years)
    logarithm, total = math.log(option.spot), 0.0
    for draw in draws:
        logarithm += drift + diffusion * draw
        total += math.exp(logarithm)
    return total / len(draws)


def _pause(seconds: float, context: Context) -> None:
    """Sleep, and stop for good when the job is not to go on; who told us to knows what becomes of it."""
    if context.cancelled.is_set() or (seconds and context.cancelled.wait(seconds)):
        raise TransientError("stopped before the last block")


def _estimate(sums: Sums) -> dict[str, Any]:
    mean = sums.total / sums.pairs
    variance = max(sums.squares / sums.pairs - mean * mean, 0.0)
    error = math.sqrt(variance / sums.pairs)
    return {
        "price": mean,
        "standard_error": error,
        "confidence_95": {"low": mean - _Z_95 * error, "high": mean + _Z_95 * error},
        "paths": 2 * sums.pairs,
    }
