"""Marshmallow schemas between the x402 wire (camelCase, amounts as digit strings) and `models`.

Unknown fields are ignored on input. What must reach the facilitator as the buyer sent it (the payload) keeps
its wire object, see `dump_payload`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from marshmallow import fields, post_load, validate

from provider import errors
from provider.payments.marshal import Amount, Flag, WireSchema, load, object_field
from provider.payments.models import (
    X402_VERSION,
    PaymentChallenge,
    PaymentPayload,
    PaymentRequirements,
    Receipt,
    SettlementResponse,
    VerifyResponse,
)

_TEXT = validate.Length(min=1, max=256)


class RequirementsSchema(WireSchema):
    """`PaymentRequirements`."""

    scheme = fields.String(required=True, validate=_TEXT)
    network = fields.String(required=True, validate=_TEXT)
    amount = Amount(required=True)
    asset = fields.String(required=True, validate=_TEXT)
    pay_to = fields.String(required=True, data_key="payTo", validate=_TEXT)
    max_timeout_seconds = fields.Integer(
        required=True, strict=True, data_key="maxTimeoutSeconds", validate=validate.Range(min=1, max=2**31)
    )
    extra = object_field()

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> PaymentRequirements:
        return PaymentRequirements(**data)


class StellarPayloadSchema(WireSchema):
    """The part of a payload that belongs to scheme `exact` on Stellar."""

    transaction = fields.String(required=True)


class PayloadSchema(WireSchema):
    """`PaymentPayload`."""

    x402_version = fields.Integer(required=True, strict=True, data_key="x402Version")
    accepted = fields.Nested(RequirementsSchema, required=True)
    payload = fields.Nested(StellarPayloadSchema, required=True)
    resource = fields.Dict(keys=fields.String(), load_default=None)
    extensions = object_field()

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> PaymentPayload:
        return PaymentPayload(transaction=data.pop("payload")["transaction"], **data)


class ChallengeSchema(WireSchema):
    """`PaymentRequired`, the body and header of a 402."""

    x402_version = fields.Integer(
        required=True, strict=True, data_key="x402Version", validate=validate.Equal(X402_VERSION)
    )
    error = fields.String(load_default=None)
    resource = fields.Dict(keys=fields.String(), load_default=None)
    accepts = fields.List(fields.Nested(RequirementsSchema), required=True)
    extensions = object_field()

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> PaymentChallenge:
        del data["x402_version"]
        return PaymentChallenge(accepts=tuple(data.pop("accepts")), **data)


class VerifyResponseSchema(WireSchema):
    """`VerifyResponse` of a facilitator; `isValid` counts only as a boolean, a reason only as a text."""

    valid = Flag(required=True, data_key="isValid")
    reason = fields.Raw(load_default=None, data_key="invalidReason")

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> VerifyResponse:
        reason = data["reason"]
        return VerifyResponse(data["valid"], reason if isinstance(reason, str) else None)


class SettlementResponseSchema(WireSchema):
    """`SettlementResponse`, the content of PAYMENT-RESPONSE."""

    success = Flag(required=True)
    network = fields.String(required=True)
    transaction = fields.String(load_default="")
    payer = fields.String(load_default=None)
    amount = Amount(load_default=None)
    error_reason = fields.String(load_default=None, data_key="errorReason")
    error_message = fields.String(load_default=None, data_key="errorMessage")
    extensions = object_field()

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> SettlementResponse:
        return SettlementResponse(**data)


_REQUIREMENTS = RequirementsSchema()
_PAYLOAD = PayloadSchema()
_CHALLENGE = ChallengeSchema()
_VERIFY = VerifyResponseSchema()
_SETTLEMENT = SettlementResponseSchema()


def dump_requirements(requirements: PaymentRequirements) -> dict[str, Any]:
    """Spell one offer as `PaymentRequirements`."""
    return cast("dict[str, Any]", _REQUIREMENTS.dump(requirements))


def load_requirements(obj: Mapping[str, Any]) -> PaymentRequirements:
    """Read one offer; raises `errors.InvalidBody` naming each field."""
    return cast(PaymentRequirements, load(_REQUIREMENTS, obj, errors.InvalidBody, "The payment requirements"))


def load_payload(obj: Mapping[str, Any]) -> PaymentPayload:
    """Read a payment payload; raises `errors.InvalidHeader` naming each field."""
    payload = cast(PaymentPayload, load(_PAYLOAD, obj, errors.InvalidHeader, "The payment payload"))
    return replace(payload, wire=dict(obj))


def dump_payload(payload: PaymentPayload) -> dict[str, Any]:
    """Spell a payload for the facilitator: as it was received, if it was received."""
    if payload.wire is not None:
        return dict(payload.wire)
    body: dict[str, Any] = {"x402Version": payload.x402_version}
    if payload.resource is not None:
        body["resource"] = dict(payload.resource)
    body["accepted"] = dump_requirements(payload.accepted)
    body["payload"] = {"transaction": payload.transaction}
    return body | ({"extensions": dict(payload.extensions)} if payload.extensions else {})


def payment_required(
    *,
    url: str,
    description: str,
    accepts: Sequence[PaymentRequirements],
    error: str = "Payment is required.",
    mime_type: str = "application/json",
    extensions: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the body of a 402 (standard H1)."""
    return {
        "x402Version": X402_VERSION,
        "error": error,
        "resource": {"url": url, "description": description, "mimeType": mime_type},
        "accepts": [dump_requirements(offer) for offer in accepts],
        "extensions": dict(extensions or {}),
    }


def load_payment_required(obj: Mapping[str, Any]) -> PaymentChallenge:
    """Read a 402 as its buyer; raises `errors.InvalidBody` naming each field."""
    return cast(PaymentChallenge, load(_CHALLENGE, obj, errors.InvalidBody, "The 402 answer"))


def load_verify_response(obj: Any) -> VerifyResponse:
    """Read a facilitator's `VerifyResponse`; raises `errors.InvalidBody` naming each field."""
    return cast(VerifyResponse, load(_VERIFY, obj, errors.InvalidBody, "The facilitator's answer"))


def settlement_response(
    *,
    success: bool,
    network: str,
    transaction: str = "",
    payer: str | None = None,
    amount: int | None = None,
    error_reason: str | None = None,
    error_message: str | None = None,
) -> dict[str, Any]:
    """Build a `SettlementResponse`; fields without a value are left out (standard H5)."""
    response = SettlementResponse(success, network, transaction, payer, amount, error_reason, error_message)
    return {k: v for k, v in _SETTLEMENT.dump(response).items() if v is not None and v != {}}


def receipt_response(receipt: Receipt) -> dict[str, Any]:
    """Build the `SettlementResponse` of a payment that settled."""
    return settlement_response(
        success=True,
        network=receipt.network,
        transaction=receipt.transaction,
        payer=receipt.payer,
        amount=receipt.amount,
    )


def load_settlement_response(obj: Mapping[str, Any]) -> SettlementResponse:
    """Read a PAYMENT-RESPONSE as its buyer; raises `errors.InvalidBody` naming each field."""
    return cast(SettlementResponse, load(_SETTLEMENT, obj, errors.InvalidBody, "The settlement response"))
