"""Do the Stellar RPCs answer, for our network, and up to date?"""

from provider.chain.rpc import StellarRpc
from provider.doctor.finding import Finding, fail, ok
from provider.errors import RpcError
from provider.networks import PASSPHRASES

MOST_LEDGER_AGE_SECONDS = 60
UNREADABLE = (RpcError, KeyError, ValueError, TypeError)
"""What a broken answer of an RPC leads to."""


def check_rpc(rpc: StellarRpc, network: str, now: float) -> Finding:
    """Check one Stellar RPC: it answers, for our network, and keeps up with it. `now` is Unix time."""
    name = f"rpc {rpc.url}"
    try:
        passphrase, health = rpc.passphrase(), rpc.health()
    except UNREADABLE as error:
        todo = "start it, wait until it has caught up, or give another in STELLAR_RPC_URLS"
        return fail(name, f"{type(error).__name__}: {error}", todo)
    if passphrase != PASSPHRASES[network]:
        return fail(name, f"its network is {passphrase!r}", f"give one of {network} in STELLAR_RPC_URLS")
    age = 0 if health.latest_close_time is None else int(now - health.latest_close_time)
    if age > MOST_LEDGER_AGE_SECONDS:
        todo = "give another in STELLAR_RPC_URLS, or set this machine's clock"
        return fail(name, f"its latest ledger closed {age} s ago", todo)
    return ok(name, f"healthy at ledger {health.latest_ledger}")


def no_rpc() -> Finding:
    """Without an RPC an uncertain payment cannot be decided."""
    todo = "set STELLAR_RPC_URLS: without one, payments whose answer is lost stay undecided for ever"
    return fail("rpc", "none is configured", todo)
