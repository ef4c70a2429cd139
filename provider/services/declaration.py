"""A service: what is sold, for how much, and within which limits (standard §1)."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from provider.errors import ConfigurationError, DeterministicError, TransientError
from provider.services.charge import ChargePolicy
from provider.services.checks import SETTLE_MARGIN_SECONDS, declaration_problems
from provider.services.context import Handler, no_handler
from provider.services.conversion import JsonSchema, as_json_schema
from provider.services.price import parse_price
from provider.services.problems import FieldProblem
from provider.services.query import coerce
from provider.services.schema import CompiledSchema
from provider.services.validity import FROM_WORK, usual_validity, validity_advice


@dataclass(frozen=True, kw_only=True, eq=False)
class Service:
    """One thing for sale; docs/services.md explains every field.

    Nothing is checked here: `problems` tells what is wrong, so that a start reports everything at once.
    """

    name: str
    description: str
    price: str
    charge: ChargePolicy
    input_schema: JsonSchema
    output_schema: JsonSchema
    handler: Handler = no_handler
    example_input: Any = None
    example_output: Any = None
    timeout_seconds: float = 60
    concurrency: int = 1
    max_queued: int = 100
    max_wait_seconds: float = 600
    expected_seconds: float | None = None
    max_retries: int = 0
    transient: tuple[type[Exception], ...] = ()
    other_errors_transient: bool = False
    stall_seconds: float | None = None
    remote: bool = False
    max_attempts: int | None = None
    max_timeout_seconds: int = FROM_WORK
    max_input_bytes: int = 65_536
    max_output_bytes: int = 1_048_576
    mime_type: str = "application/json"
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Bring what may be written in several ways into one form."""
        self._normalise("charge", _as_charge(self.charge))
        if self.max_timeout_seconds == FROM_WORK:
            self._normalise("max_timeout_seconds", usual_validity(self))
        self._normalise("input_schema", as_json_schema(self.input_schema))
        self._normalise("output_schema", as_json_schema(self.output_schema))
        self._normalise("example_input", copy.deepcopy(self.example_input))
        self._normalise("example_output", copy.deepcopy(self.example_output))

    def _normalise(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)

    @cached_property
    def amount(self) -> int:
        """The price in atomic units of the token."""
        try:
            return parse_price(self.price)
        except ValueError as error:
            raise ConfigurationError([f"service {self.name!r}: price: {error}"]) from error

    @property
    def seed_seconds(self) -> float:
        """Assumed run time until finished jobs give an average (Q2)."""
        return min(self.timeout_seconds, 10) if self.expected_seconds is None else self.expected_seconds

    @property
    def expected_work_seconds(self) -> float:
        """How long a job may be taken to work, which is never longer than its budget."""
        return min(self.timeout_seconds, self.seed_seconds)

    def problems(self, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> list[str]:
        """Return everything wrong with this declaration, each line naming service and field."""
        lines = declaration_problems(self, settle_margin_seconds)
        return [f"service {self.name!r:.80}: {line}" for line in lines]

    def advice(self, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> str | None:
        """Return what is worth changing in a good declaration."""
        advice = validity_advice(self, settle_margin_seconds)
        return advice and f"service {self.name!r:.80}: {advice}"

    def validate_input(self, value: Any) -> list[FieldProblem]:
        """Return why the value is no input for this service; empty when it is one."""
        return self._input.problems(value)

    def validate_output(self, value: Any) -> list[FieldProblem]:
        """Return why the value is no output of this service; empty when it is one."""
        return self._output.problems(value)

    def coerce_query(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Read a query string as an input; what does not fit stays text for validation to refuse."""
        return coerce(pairs, self._input)

    def is_transient(self, error: BaseException) -> bool:
        """Return whether a job that ended with this error is retried (R6)."""
        if isinstance(error, TransientError | DeterministicError):
            return isinstance(error, TransientError)
        return self.other_errors_transient or isinstance(error, self.transient)

    @cached_property
    def _input(self) -> CompiledSchema:
        return CompiledSchema(self.input_schema)

    @cached_property
    def _output(self) -> CompiledSchema:
        return CompiledSchema(self.output_schema)


def _as_charge(charge: Any) -> Any:
    return ChargePolicy(charge) if charge in list(ChargePolicy) else charge
