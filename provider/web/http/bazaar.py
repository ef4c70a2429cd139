"""The x402 `bazaar` extension: how a service is called, for indexers (standard H8).

Shape: x402 v2 `specs/extensions/bazaar.md`. A facilitator checks `info` against `schema`, so a service
without an example that its schema accepts is described less closely (`is_consistent`).
"""

from collections.abc import Mapping
from typing import Any

from provider.services import Service
from provider.services.schema import DIALECT, CompiledSchema
from provider.web.http.outcome import outcome_example

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


def discovery_extension(service: Service, method: str, *, detail: int) -> dict[str, Any]:
    """Describe a call by `method`; detail 2 gives schemas and examples, 1 the input's, 0 neither."""
    info: dict[str, Any] = {"input": _input_info(service, method, detail)}
    parts: dict[str, Any] = {"input": _input_schema(service, method, detail)}
    definitions = _definitions(service.input_schema) if detail else {}
    if detail == 2 and service.example_output is not None:
        info["output"] = {"type": "json", "example": outcome_example(service)}
        parts["output"] = _output_schema()
    return {"info": info, "schema": _schema(parts, definitions)}


def _input_info(service: Service, method: str, detail: int) -> dict[str, Any]:
    example = service.example_input if detail and service.example_input is not None else {}
    info: dict[str, Any] = {"type": "http", "method": method}
    return info | ({"bodyType": "json", "body": example} if method == "POST" else {"queryParams": example})


def _input_schema(service: Service, method: str, detail: int) -> dict[str, Any]:
    accepted = _without_definitions(service.input_schema) if detail else dict(ANY_OBJECT)
    field, kind = ("body", {"bodyType": {"const": "json"}}) if method == "POST" else ("queryParams", {})
    return {
        "type": "object",
        "properties": {
            "type": {"type": "string", "const": "http"},
            "method": {"type": "string", "enum": [method]},
            **kind,
            field: accepted,
        },
        "required": ["type", "method", *kind, *(["body"] if method == "POST" else [])],
        "additionalProperties": False,
    }


def _output_schema() -> dict[str, Any]:
    return {"type": "object", "properties": {"type": {"type": "string"}, "example": {}}, "required": ["type"]}


def _schema(parts: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    schema = {"$schema": DIALECT, "type": "object", "properties": dict(parts), "required": ["input"]}
    # References such as #/$defs/x are read from the root of the document they are in.
    return schema | ({"$defs": dict(definitions)} if definitions else {})


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema.get("$defs", {})
    return found


def _without_definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in ("$defs", "$schema", "$id")}


def is_consistent(extension: Mapping[str, Any]) -> bool:
    """Return whether `info` fits `schema`, as a facilitator will check."""
    return not CompiledSchema(dict(extension["schema"])).problems(extension["info"])
