import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from marshmallow import EXCLUDE, Schema, fields, validate

from provider.services import Registry, Service
from provider.services.schema import schema_problems

Declare = Callable[..., Service]


class Line(Schema):
    amount = fields.Integer(required=True, validate=validate.Range(min=1))
    note = fields.String(allow_none=True)


class Order(Schema):
    class Meta:
        unknown = EXCLUDE

    lines = fields.List(fields.Nested(Line), required=True)
    parent = fields.Nested(lambda: Order(), allow_none=True)


@pytest.mark.parametrize("schema", [Order, Order(), Order(only=("lines",))])
def test_a_marshmallow_schema_becomes_json_schema(declare: Declare, schema: Any) -> None:
    service = declare(input_schema=schema)
    assert service.problems() == []
    assert service.validate_input({"lines": [{"amount": 1, "note": None}]}) == []


def test_the_rules_of_nested_marshmallow_schemas_are_kept(declare: Declare) -> None:
    value = {"lines": [{"amount": 0}], "parent": {"lines": [{}]}, "more": 1}
    problems = [problem.field for problem in declare(input_schema=Order).validate_input(value)]
    assert problems == ["/lines/0/amount", "/parent/lines/0/amount"]


def test_a_marshmallow_schema_refuses_unknown_fields_unless_it_excludes_them(declare: Declare) -> None:
    assert declare(input_schema=Line).validate_input({"amount": 1, "more": 1})


def test_nothing_of_openapi_is_left_in_a_converted_schema(declare: Declare) -> None:
    schema = declare(input_schema=Order).input_schema
    assert "#/components" not in str(schema)
    assert schema_problems(schema) == []


def test_a_schema_that_cannot_be_converted_is_a_problem(fields: dict[str, Any]) -> None:
    class Demanding(Schema):
        def __init__(self, tenant: str) -> None:
            super().__init__()

    services = Registry()
    services.service(**{**fields, "input_schema": Demanding})(lambda payload, context: None)
    assert "service 'double': cannot be declared" in services.problems()[0]


def test_json_schema_alone_needs_neither_marshmallow_nor_apispec() -> None:
    """Importing them would double the start of every process that does not use them."""
    script = "import sys, examples.services; print(sorted({'apispec', 'marshmallow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
