"""Sign a payment: a transfer that its payer authorises by hand, so that only the fee needs a simulation."""

import math
import secrets
from collections.abc import Mapping
from typing import Any

from stellar_sdk import Account, Address, InvokeHostFunction, Keypair, TransactionBuilder, scval, xdr
from stellar_sdk.auth import authorize_entry

from provider.chain.node import Node
from provider.chain.pace import read_pace
from provider.chain.rpc import StellarRpc
from provider.client.signer import Signer
from provider.errors import PaymentRejected
from provider.networks import PASSPHRASES
from provider.payments import reasons
from provider.payments.models import PaymentPayload, PaymentRequirements

NULL_ACCOUNT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"
"""Source of the envelope, as in the reference clients: the facilitator puts its own in its place."""
BASE_FEE = 100
VALID_SECONDS = 300
"""Time bounds of an envelope that is never submitted as it is."""

Kind = xdr.SorobanCredentialsType


def sign_payment(
    requirements: PaymentRequirements,
    payer: Keypair | Signer,
    *,
    rpc_url: str,
    ledger_seconds: float | None = None,
    credentials: str = "v1",
    latest_ledger: int | None = None,
    resource: Mapping[str, Any] | None = None,
    extensions: Mapping[str, Any] | None = None,
) -> PaymentPayload:
    """Sign a transfer that fits the offer, valid for its `maxTimeoutSeconds`.

    Args:
        ledger_seconds: what a ledger is taken for. None: measured and rounded up, as the reference client
            does; the facilitator's tolerance is two ledgers.
        credentials: `v1` (every facilitator), or `v2`, which binds the address as well (CAP-71).
        latest_ledger: saves asking the node for it.

    Raises:
        PaymentRejected: if the chain would refuse it: no balance, no trustline, no such payee.
        RpcError: if the node does not answer.
    """
    if latest_ledger is None or ledger_seconds is None:
        pace = read_pace(StellarRpc(rpc_url))
        latest_ledger = pace.latest_ledger if latest_ledger is None else latest_ledger
        ledger_seconds = pace.rounded_up if ledger_seconds is None else ledger_seconds
    expiration = latest_ledger + math.ceil(requirements.max_timeout_seconds / ledger_seconds)
    operation = signed_transfer(requirements, payer, expiration, credentials)
    transaction = with_resources(operation, requirements.network, Node(rpc_url))
    return PaymentPayload(requirements, transaction, resource, dict(extensions or {}))


def with_resources(operation: InvokeHostFunction, network: str, node: Node) -> str:
    """Put a signed transfer into an envelope with the resources that its simulation needed.

    Raises:
        PaymentRejected, RpcError
    """
    simulation = node.simulate(_envelope(operation, PASSPHRASES[network], None))
    if simulation.error is not None:
        raise PaymentRejected(reasons.SIMULATION_FAILED, simulation.error.splitlines()[0][:300])
    data = xdr.SorobanTransactionData.from_xdr(simulation.transaction_data)
    return _envelope(operation, PASSPHRASES[network], data)


def signed_transfer(
    requirements: PaymentRequirements,
    payer: Keypair | Signer,
    expiration_ledger: int,
    credentials: str = "v1",
    nonce: int | None = None,
) -> InvokeHostFunction:
    """The operation of a payment, authorised; this needs no network."""
    signer = Signer.of(payer)
    call = xdr.InvokeContractArgs(
        contract_address=Address(requirements.asset).to_xdr_sc_address(),
        function_name=xdr.SCSymbol(b"transfer"),
        args=[
            scval.to_address(signer.address),
            scval.to_address(requirements.pay_to),
            scval.to_int128(requirements.amount),
        ],
    )
    entry = _entry(call, signer.address, credentials, secrets.randbits(63) if nonce is None else nonce)
    signed = authorize_entry(entry, signer.authorize, expiration_ledger, PASSPHRASES[requirements.network])
    kind = xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT
    return InvokeHostFunction(xdr.HostFunction(kind, invoke_contract=call), auth=[signed])


def _entry(
    call: xdr.InvokeContractArgs, payer: str, credentials: str, nonce: int
) -> xdr.SorobanAuthorizationEntry:
    inner = xdr.SorobanAddressCredentials(
        address=Address(payer).to_xdr_sc_address(),
        nonce=xdr.Int64(nonce),
        signature_expiration_ledger=xdr.Uint32(0),
        signature=scval.to_void(),
    )
    arms = {
        "v1": xdr.SorobanCredentials(Kind.SOROBAN_CREDENTIALS_ADDRESS, address=inner),
        "v2": xdr.SorobanCredentials(Kind.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=inner),
    }
    function_kind = xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN
    function = xdr.SorobanAuthorizedFunction(function_kind, contract_fn=call)
    return xdr.SorobanAuthorizationEntry(arms[credentials], xdr.SorobanAuthorizedInvocation(function, []))


def _envelope(operation: InvokeHostFunction, passphrase: str, data: xdr.SorobanTransactionData | None) -> str:
    builder = TransactionBuilder(Account(NULL_ACCOUNT, 0), passphrase, BASE_FEE)
    builder.set_timeout(VALID_SECONDS).append_operation(operation)
    if data is not None:
        builder.set_soroban_data(data)
    return builder.build().to_xdr()
