import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from provider.errors import ConfigurationError, ServiceNotFound
from provider.services import Registry, Service, load_registry

Declare = Callable[..., Service]

MODULE = """
from provider.services import Registry
services = Registry()
@services.service(name={name!r}, description="Work.", price={price!r}, charge="upfront",
                  input_schema={{"type": "object"}}, output_schema={{}})
def work(payload, context):
    return payload
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Write a module that can be imported for the length of the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def write(name: str, source: str) -> None:
        (tmp_path / f"{name}.py").write_text(source)

    return write


def loading(import_path: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_registry(import_path)
    return caught.value.problems


def test_a_decorated_handler_stays_an_ordinary_function(fields: dict[str, Any]) -> None:
    services = Registry()

    @services.service(**fields)
    def double(payload: dict[str, Any], context: object) -> int:
        return 2 * int(payload["number"])

    assert double({"number": 4}, None) == 8
    assert services.get("double").handler is double


def test_services_are_listed_by_name(declare: Declare) -> None:
    services = Registry()
    for name in ("c", "a", "b"):
        services.add(declare(name=name))
    assert [service.name for service in services] == ["a", "b", "c"]
    assert len(services) == 3
    assert "a" in services
    assert "d" not in services


def test_an_unknown_service_is_not_found() -> None:
    with pytest.raises(ServiceNotFound):
        Registry().get("nothing")


def test_a_good_registry_passes(declare: Declare) -> None:
    services = Registry()
    services.add(declare())
    services.check()


def test_every_problem_of_every_service_is_raised_at_once(declare: Declare) -> None:
    services = Registry()
    services.add(declare(name="one", price="0", concurrency=0))
    services.add(declare(name="two", description=""))
    with pytest.raises(ConfigurationError) as caught:
        services.check()
    assert [line.split(": ")[:2] for line in caught.value.problems] == [
        ["service 'one'", "price"],
        ["service 'one'", "concurrency"],
        ["service 'two'", "description"],
    ]


def test_a_misspelt_field_is_a_problem_that_suggests_the_right_one(fields: dict[str, Any]) -> None:
    services = Registry()
    services.service(**fields, concurency=2)(lambda payload, context: None)
    expected = ["service 'double': concurency: is no field of a service; did you mean concurrency?"]
    assert services.problems() == expected


def test_missing_fields_are_problems_like_all_others() -> None:
    services = Registry()
    services.service(name="bare")(lambda payload, context: None)
    told = {line.split(": ")[1] for line in services.problems()}
    assert told == {"description", "price", "charge", "input_schema", "output_schema"}


def test_a_name_declared_twice_is_a_problem(declare: Declare) -> None:
    services = Registry()
    services.add(declare())
    services.add(declare())
    assert services.problems() == ["service 'double': name: is declared 2 times"]


def test_adding_the_same_service_again_is_harmless(declare: Declare) -> None:
    services, service = Registry(), declare()
    services.add(service)
    services.add(service)
    assert services.problems() == []


def test_several_modules_are_merged(module: Callable[[str, str], None]) -> None:
    module("shop_a", MODULE.format(name="a", price="1"))
    module(
        "shop_b",
        MODULE.format(name="b", price="1").replace("services", "offers").replace(".offers", ".services"),
    )
    assert [service.name for service in load_registry("shop_a, shop_b:offers,shop_a")] == ["a", "b"]


def test_the_same_name_in_two_modules_is_a_problem(module: Callable[[str, str], None]) -> None:
    module("shop_c", MODULE.format(name="same", price="1"))
    module("shop_d", MODULE.format(name="same", price="1"))
    assert loading("shop_c,shop_d") == ["service 'same': name: is declared 2 times"]


def test_problems_of_all_modules_are_told_at_once(module: Callable[[str, str], None]) -> None:
    module("shop_e", MODULE.format(name="e", price="0"))
    problems = loading("no_such_shop,shop_e")
    assert "no_such_shop" in problems[0]
    assert "service 'e': price" in problems[1]


@pytest.mark.parametrize(
    ("source", "path", "said"),
    [
        (None, "absent_shop", ["no such module", "PYTHONPATH"]),
        (None, "absent_shop.inner", ["no such module"]),
        ("import absent_library", "broken_shop", ["failed while it was imported", "absent_library"]),
        ("1 / 0", "broken_shop", ["ZeroDivisionError"]),
        ("def", "broken_shop", ["SyntaxError"]),
        ("x = 1", "broken_shop", ["no attribute 'services'", "package.module:attribute"]),
        ("services = []", "broken_shop", ["is a list", "Registry"]),
        (None, "", ["names no service"]),
        (None, ":", ["PROVIDER_SERVICES"]),
        (None, ".relative", ["PROVIDER_SERVICES"]),
    ],
)
def test_what_cannot_be_imported_says_what_to_do(
    module: Any, source: str, path: str, said: list[str]
) -> None:
    if source:
        module("broken_shop", source)
    (problem,) = loading(path)
    assert [word for word in (*said, path) if word not in problem] == []


def test_the_settle_margin_reaches_every_service(module: Callable[[str, str], None]) -> None:
    module("shop_f", MODULE.format(name="f", price="1").replace("upfront", "on-success"))
    load_registry("shop_f", settle_margin_seconds=240)
    with pytest.raises(ConfigurationError, match="P1"):
        load_registry("shop_f", settle_margin_seconds=241)
