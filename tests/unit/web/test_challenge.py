"""The 402 answer (standard H1, H8), judged by the reference implementation where it has a judgement."""

import base64
import json
from typing import Any

import pytest
from x402.extensions.bazaar.facilitator import validate_and_extract, validate_discovery_extension_spec

from provider.payments.models import PaymentRequirements
from provider.services import Service
from provider.web.http.challenge import Challenge, challenges

OFFER = PaymentRequirements("stellar:testnet", "C" * 56, 100, "G" * 56, 60, {"areFeesSponsored": True})
WORD = {"type": "object", "properties": {"word": {"$ref": "#/$defs/Word"}}, "required": ["word"]}
SCHEMA = {**WORD, "$defs": {"Word": {"type": "string"}}}


def service(**fields: Any) -> Service:
    given = {
        "input_schema": SCHEMA,
        "output_schema": {"type": "object"},
        "example_input": {"word": "a"},
        **fields,
    }
    return Service(name="echo", description="Say it again", price="0.00001", charge="on-success", **given)


def post(**fields: Any) -> Challenge:
    return challenges(service(**fields), OFFER, "https://x.example/run/echo")["POST"]


def test_header_and_body_are_the_same_json() -> None:
    """Clients read the header, people the body."""
    challenge = post()
    assert json.loads(base64.b64decode(challenge.header)) == json.loads(challenge.body)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_reference_facilitator_accepts_our_discovery(method: str) -> None:
    """A `$ref` into `$defs` must still resolve inside the extension."""
    document = challenges(service(), OFFER, "https://x.example/run/echo")[method].document
    bazaar = document["extensions"]["bazaar"]
    assert validate_and_extract(bazaar).valid
    assert validate_discovery_extension_spec(bazaar).valid


def test_discovery_without_an_example_is_still_consistent() -> None:
    """A facilitator checks the example it is shown; an empty one must not break `required`."""
    assert validate_and_extract(post(example_input=None).document["extensions"]["bazaar"]).valid


@pytest.mark.parametrize("size", range(20, 140, 4))
def test_a_large_schema_costs_the_description_and_not_the_header(size: int) -> None:
    """A stock nginx takes 4 096 bytes of head; what is needed to pay comes first. Red before: 7 168."""
    properties = {f"field-{number}": {"type": "string", "description": "x" * 20} for number in range(size)}
    challenge = post(input_schema={"type": "object", "properties": properties}, example_input={})
    assert len(challenge.header) <= 3200
    assert challenge.document["accepts"]


def test_a_refusal_with_a_long_reason_still_fits() -> None:
    """The reason comes from a facilitator, so it may be anything."""
    properties = {f"field-{number}": {"type": "string"} for number in range(78)}
    challenge = post(input_schema={"type": "object", "properties": properties}, example_input={})
    assert len(challenge.because("ü" * 10_000).header) <= 8192
