"""Sign payments offline, as a buyer would: a transfer, authorised by its payer.

The fee, footprint and source of the envelope are stand-ins: a facilitator rebuilds them from its
own simulation, and nobody else looks.
"""

import base64
import json
import secrets
from collections.abc import Mapping
from typing import Any

from stellar_sdk import Account, Address, InvokeHostFunction, Keypair, Network, TransactionBuilder, scval, xdr
from stellar_sdk.auth import DelegateSignature, authorize_entry, build_with_delegates_entry

from provider.payments.models import PaymentPayload, PaymentRequirements

NULL_ACCOUNT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"
"""Source of the envelopes that the reference clients send."""
PASSPHRASES = {
    "stellar:testnet": Network.TESTNET_NETWORK_PASSPHRASE,
    "stellar:pubnet": Network.PUBLIC_NETWORK_PASSPHRASE,
}
_TYPES = xdr.SorobanCredentialsType
_ARMS = {"address": _TYPES.SOROBAN_CREDENTIALS_ADDRESS, "address_v2": _TYPES.SOROBAN_CREDENTIALS_ADDRESS_V2}


def signed_payment(
    requirements: PaymentRequirements,
    keypair: Keypair,
    expiration_ledger: int,
    *,
    nonce: int | None = None,
    arm: str = "address",
    identifier: str | None = None,
    payer: str | None = None,
) -> PaymentPayload:
    """Sign a transfer that fits the offer; `arm` is address, address_v2 or address_with_delegates.

    `payer` may be a contract (C…) of which the key is a signer.
    """
    nonce = secrets.randbits(63) if nonce is None else nonce
    passphrase = PASSPHRASES[requirements.network]
    call = transfer(requirements, payer or keypair.public_key)
    entry = signed_entry(call, keypair, expiration_ledger, nonce, passphrase, arm, payer)
    extensions = {"payment-identifier": {"info": {"required": False, "id": identifier}}} if identifier else {}
    return PaymentPayload(
        accepted=requirements, transaction=envelope(call, [entry], passphrase), extensions=extensions
    )


def transfer(requirements: PaymentRequirements, payer: str) -> xdr.InvokeContractArgs:
    """Build `asset.transfer(payer, payTo, amount)`."""
    return xdr.InvokeContractArgs(
        contract_address=Address(requirements.asset).to_xdr_sc_address(),
        function_name=xdr.SCSymbol(b"transfer"),
        args=[
            scval.to_address(payer),
            scval.to_address(requirements.pay_to),
            scval.to_int128(requirements.amount),
        ],
    )


def signed_entry(
    call: xdr.InvokeContractArgs, keypair: Keypair, expiration: int, nonce: int, passphrase: str, arm: str,
    payer: str | None = None,
) -> xdr.SorobanAuthorizationEntry:  # fmt: skip
    """Authorise the call for the keypair's account, or for another payer."""
    payer = payer or keypair.public_key
    unsigned = _unsigned_entry(call, payer, nonce, "address_v2" if arm not in _ARMS else arm)
    if arm == "address_with_delegates":
        delegate = DelegateSignature(Keypair.random().public_key)
        unsigned = build_with_delegates_entry(unsigned, expiration, [delegate])
    return authorize_entry(unsigned, keypair, expiration, passphrase)


def _unsigned_entry(
    call: xdr.InvokeContractArgs, payer: str, nonce: int, arm: str
) -> xdr.SorobanAuthorizationEntry:
    credentials = xdr.SorobanAddressCredentials(
        address=Address(payer).to_xdr_sc_address(),
        nonce=xdr.Int64(nonce),
        signature_expiration_ledger=xdr.Uint32(0),
        signature=scval.to_void(),
    )
    function = xdr.SorobanAuthorizedFunction(
        xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN, contract_fn=call
    )
    members: dict[str, Any] = {arm: credentials}
    return xdr.SorobanAuthorizationEntry(
        credentials=xdr.SorobanCredentials(_ARMS[arm], **members),
        root_invocation=xdr.SorobanAuthorizedInvocation(function, []),
    )


def envelope(call: xdr.InvokeContractArgs, auth: list[xdr.SorobanAuthorizationEntry], passphrase: str) -> str:
    """Wrap the call in a transaction envelope (base64 XDR) that only a facilitator can complete."""
    function = xdr.HostFunction(xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=call)
    resources = xdr.SorobanResources(
        footprint=xdr.LedgerFootprint([], []),
        instructions=xdr.Uint32(0),
        disk_read_bytes=xdr.Uint32(0),
        write_bytes=xdr.Uint32(0),
    )
    data = xdr.SorobanTransactionData(xdr.SorobanTransactionDataExt(0), resources, xdr.Int64(20_000))
    return (
        TransactionBuilder(Account(NULL_ACCOUNT, 0), passphrase, base_fee=100)
        .append_operation(InvokeHostFunction(function, auth=auth))
        .add_time_bounds(0, 0)
        .set_soroban_data(data)
        .build()
        .to_xdr()
    )


def payment_header(payment: PaymentPayload | Mapping[str, Any]) -> str:
    """Spell a PAYMENT-SIGNATURE header as the reference clients do."""
    wire = payment if isinstance(payment, Mapping) else payment_wire(payment)
    return base64.b64encode(json.dumps(wire, separators=(",", ":")).encode()).decode()


def payment_wire(payment: PaymentPayload) -> dict[str, Any]:
    """Spell a payment as x402 v2 JSON, by hand: tests must not trust the code under test."""
    return {
        "x402Version": payment.x402_version,
        "resource": payment.resource,
        "accepted": requirements_wire(payment.accepted),
        "payload": {"transaction": payment.transaction},
        "extensions": dict(payment.extensions),
    }


def requirements_wire(requirements: PaymentRequirements) -> dict[str, Any]:
    """Spell an offer as x402 v2 JSON."""
    return {
        "scheme": requirements.scheme,
        "network": requirements.network,
        "amount": str(requirements.amount),
        "asset": requirements.asset,
        "payTo": requirements.pay_to,
        "maxTimeoutSeconds": requirements.max_timeout_seconds,
        "extra": dict(requirements.extra),
    }
