"""What any account may do for a small fee: submit signed payments, touch and extend entries of others."""

from collections.abc import Callable

from stellar_sdk import Account, Keypair, TransactionBuilder, TransactionEnvelope, xdr

from provider.localnet.chain import keys, xdrout
from provider.localnet.chain.faults import Faults
from provider.localnet.chain.rpc import Rpc
from provider.localnet.chain.state import ChainState


def touch_nonce(state: ChainState, payer: str, nonce: int) -> str:
    """Write a nonce entry back by a call of a stranger, close the ledger, and return the hash."""
    return touch(state, keys.nonce_key(payer, nonce))


def extend_nonce(state: ChainState, payer: str, nonce: int, ledgers: int) -> str:
    """Let a nonce entry live for so many ledgers after the next one, which is closed."""
    return extend(state, [keys.nonce_key(payer, nonce)], ledgers)


def land(state: ChainState, transaction: str) -> str:
    """Submit the call of a signed payment, close the ledger, and return the hash."""
    found = Rpc(state, Faults()).call("simulateTransaction", {"transaction": transaction})
    data = xdr.SorobanTransactionData.from_xdr(found["transactionData"])
    signed = TransactionEnvelope.from_xdr(transaction, state.config.passphrase)
    call = signed.transaction.operations[0]
    return _send(state, data, lambda builder: builder.append_operation(call))


def touch(state: ChainState, *written: xdr.LedgerKey) -> str:
    """Make a call that names entries as read-write and does nothing with them."""
    token = state.config.token.contract
    data = xdrout.soroban_data([keys.instance_key(token)], list(written))
    return _send(
        state, data, lambda builder: builder.append_invoke_contract_function_op(token, "decimals", [])
    )


def extend(state: ChainState, extended: list[xdr.LedgerKey], ledgers: int) -> str:
    """Move the last ledger of entries: that of the transaction and so many more."""
    data = xdrout.soroban_data(extended, [])
    return _send(state, data, lambda builder: builder.append_extend_footprint_ttl_op(ledgers))


def _send(
    state: ChainState,
    data: xdr.SorobanTransactionData,
    fill: Callable[[TransactionBuilder], TransactionBuilder],
) -> str:
    stranger = Keypair.random()
    account = state.fund(stranger.public_key, trustline=False)
    source = Account(stranger.public_key, account.sequence)
    builder = TransactionBuilder(source, state.config.passphrase, base_fee=100).add_time_bounds(0, 0)
    envelope = fill(builder).set_soroban_data(data).build()
    envelope.sign(stranger)
    sent = Rpc(state, Faults()).call("sendTransaction", {"transaction": envelope.to_xdr()})
    assert sent["status"] == "PENDING", sent
    state.close()
    return str(sent["hash"])
