"""Rebuild a payment as a transaction of our own: our source, fee, footprint and time bounds."""

from stellar_sdk import Account, InvokeHostFunction, TransactionBuilder

from provider.facilitator.attempts import Attempt
from provider.facilitator.channels import Channel
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.verify import Verified


def build_attempt(verified: Verified, channel: Channel, sequence: int, config: FacilitatorConfig) -> Attempt:
    """Sign the transfer that was verified; `sequence` is the account's present one.

    Time bounds count from the chain's clock, not ours: a wrong local clock must not make them void.
    """
    payment, operation = verified.payment, verified.operation
    max_time = verified.clock.closed_at + int(config.valid_seconds)
    # The builder adds the resource fee of the data to the base fee.
    builder = TransactionBuilder(Account(channel.address, sequence), config.passphrase, config.inclusion_fee)
    builder.add_time_bounds(0, max_time)
    builder.append_operation(InvokeHostFunction(operation.host_function, auth=operation.auth))
    builder.set_soroban_data(verified.transaction_data)
    envelope = builder.build()
    envelope.sign(channel.keypair)
    return Attempt(
        hash=envelope.hash_hex(),
        network=payment.network,
        asset=payment.asset,
        payer=payment.payer,
        nonce=payment.nonce,
        pay_to=payment.pay_to,
        amount=str(payment.amount),
        expiration_ledger=payment.expiration_ledger,
        envelope=envelope.to_xdr(),
        channel=channel.address,
        sequence=sequence + 1,
        max_time=max_time,
        first_ledger=verified.clock.ledger,
    )
