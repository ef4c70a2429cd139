import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest

from provider.errors import ConfigurationError, DeterministicError, TransientError
from provider.services import ChargePolicy, Service

Declare = Callable[..., Service]


async def asynchronous(payload: dict[str, Any], context: Any) -> None: ...


def takes_one(payload: dict[str, Any]) -> None: ...


def takes_a_prefix(prefix: str, payload: dict[str, Any], context: Any) -> None: ...


def test_a_good_declaration_has_no_problems(declare: Declare) -> None:
    assert declare().problems() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("name", name) for name in ("", "Upper", "1st", "a_b", "-a", "a" * 64, "ä", "a\n", None)],
        *[("description", text) for text in ("", "  ", "x" * 500, None)],
        *[("price", price) for price in ("0", "-1", "1e3", "0.00000001", 0.05)],
        *[("charge", charge) for charge in ("later", None, 1)],
        *[("handler", handler) for handler in (None, "f", asynchronous, takes_one)],
        *[("timeout_seconds", value) for value in (0, -1, float("nan"), float("inf"), "60", None, True)],
        *[("concurrency", value) for value in (0, 1.5, None, True)],
        *[("max_queued", value) for value in (0, -1, 1.0)],
        *[("max_wait_seconds", value) for value in (-1, float("inf"), None)],
        *[("expected_seconds", value) for value in (0, -1, float("nan"))],
        *[("max_retries", value) for value in (-1, 0.5, None)],
        *[("stall_seconds", value) for value in (0, 1)],
        *[("max_attempts", value) for value in (0, 1.5)],
        *[("max_timeout_seconds", value) for value in (0, 300.5, -2, None)],
        *[("transient", value) for value in (OSError, (1,), (KeyboardInterrupt,), None)],
        *[("other_errors_transient", value) for value in (1, None)],
        *[("remote", value) for value in ("yes", None)],
        *[("mime_type", value) for value in ("", "json", "a/b\nc", None)],
        *[("tags", value) for value in ("abc", ["a"], ("",), (1,))],
    ],
)
def test_each_field_is_checked_and_named(declare: Declare, field: str, value: Any) -> None:
    problems = declare(**{field: value}).problems()
    assert problems
    assert all(f": {field}: " in problem for problem in problems)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "a" * 63),
        ("description", "x" * 499),
        ("charge", ChargePolicy.UPFRONT),
        ("handler", functools.partial(takes_a_prefix, "prefix")),
        ("timeout_seconds", 0.5),
        ("max_wait_seconds", 0),
        ("stall_seconds", 2),
        ("transient", (OSError, TimeoutError)),
        ("mime_type", "text/html; charset=utf-8"),
        ("tags", ("data", "html")),
    ],
)
def test_what_lies_on_the_border_is_allowed(declare: Declare, field: str, value: Any) -> None:
    assert declare(**{field: value}).problems() == []


def test_every_problem_names_its_service(declare: Declare) -> None:
    problems = declare(name="bad", price="0", concurrency=0, description="").problems()
    assert len(problems) == 3
    assert all(problem.startswith("service 'bad': ") for problem in problems)


@pytest.mark.parametrize(("timeout_seconds", "fits"), [(290, True), (290.5, False), (300, False)])
def test_on_success_work_must_leave_time_to_settle(
    declare: Declare, timeout_seconds: float, fits: bool
) -> None:
    """P1: a job that cannot settle in time can never be charged."""
    service = declare(timeout_seconds=timeout_seconds, max_timeout_seconds=300)
    assert (service.problems() == []) is fits


def test_the_settle_margin_is_a_setting(declare: Declare) -> None:
    service = declare(timeout_seconds=290, max_timeout_seconds=300)
    assert "P1" in service.problems(settle_margin_seconds=11)[0]


def test_upfront_work_may_last_longer_than_its_payment_is_valid(declare: Declare) -> None:
    assert declare(charge="upfront", timeout_seconds=3600).problems() == []


def test_a_remote_service_needs_no_handler(fields: dict[str, Any]) -> None:
    assert Service(**fields, remote=True).problems() == []


def test_a_local_service_needs_a_handler(fields: dict[str, Any]) -> None:
    assert "handler: is missing" in Service(**fields).problems()[0]


def test_the_amount_of_a_bad_price_is_a_configuration_error(declare: Declare) -> None:
    with pytest.raises(ConfigurationError, match="price"):
        _ = declare(price="0").amount


def test_a_charge_given_as_text_becomes_a_policy(declare: Declare) -> None:
    assert declare(charge="upfront").charge is ChargePolicy.UPFRONT


def test_a_declaration_cannot_be_changed(declare: Declare) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        declare().price = "1"  # type: ignore[misc]


def test_changing_the_schema_afterwards_does_not_change_the_service(fields: dict[str, Any]) -> None:
    service = Service(**fields, remote=True)
    fields["input_schema"]["required"] = ["number"]
    assert service.validate_input({}) == []


def test_changing_an_example_afterwards_does_not_change_the_service(fields: dict[str, Any]) -> None:
    example = {"number": 1}
    service = Service(**fields, remote=True, example_input=example)
    example["number"] = 2
    assert service.example_input == {"number": 1}


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [({}, 10), ({"timeout_seconds": 3}, 3), ({"expected_seconds": 25}, 25)],
)
def test_the_average_starts_from_what_is_expected(
    declare: Declare, changes: dict[str, Any], seconds: int
) -> None:
    assert declare(**changes).seed_seconds == seconds


def test_a_declared_exception_type_is_transient_and_any_other_is_not(declare: Declare) -> None:
    service = declare(transient=(OSError,))
    assert service.is_transient(ConnectionResetError())
    assert not service.is_transient(KeyError())


def test_what_the_handler_raises_by_class_overrules_the_declaration(declare: Declare) -> None:
    service = declare(transient=(Exception,), other_errors_transient=True)
    assert not service.is_transient(DeterministicError())
    assert declare().is_transient(TransientError())


def test_a_service_may_declare_all_other_errors_transient(declare: Declare) -> None:
    assert declare(other_errors_transient=True).is_transient(KeyError())
