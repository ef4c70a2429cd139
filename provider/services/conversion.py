"""Accept the ways in which a schema may be given, and return JSON Schema."""

import copy
import sys
from typing import Any

JsonSchema = dict[str, Any]

_OPENAPI = "#/components/schemas/"
_ROOT = "Root"


def as_json_schema(source: Any) -> Any:
    """Convert a marshmallow schema (class or instance); copy everything else."""
    # A program that never imported marshmallow cannot hold one of its schemas.
    if marshmallow := sys.modules.get("marshmallow"):
        schema = marshmallow.Schema
        if isinstance(source, schema) or (isinstance(source, type) and issubclass(source, schema)):
            return from_marshmallow(source)
    return copy.deepcopy(source)


def from_marshmallow(source: Any) -> JsonSchema:
    """Convert a marshmallow schema; the schemas nested in it become `$defs`."""
    from apispec import APISpec
    from apispec.ext.marshmallow import MarshmallowPlugin

    spec = APISpec(title="", version="", openapi_version="3.1.0", plugins=[MarshmallowPlugin()])
    spec.components.schema(_ROOT, schema=source)
    schemas = _local(copy.deepcopy(spec.to_dict()["components"]["schemas"]))
    root: JsonSchema = schemas.pop(_ROOT)
    return {**root, "$defs": schemas} if schemas else root


def _local(node: Any) -> Any:
    """Point references at `$defs`, where JSON Schema keeps what OpenAPI keeps in components."""
    if isinstance(node, list):
        return [_local(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _reference(item) if key == "$ref" else _local(item) for key, item in node.items()}


def _reference(pointer: str) -> str:
    name = pointer.removeprefix(_OPENAPI)
    return "#" if name == _ROOT else f"#/$defs/{name}"
