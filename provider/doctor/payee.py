"""Can the account that is paid receive the token?"""

from provider.chain.payee import Payee, read_payee
from provider.chain.rpc import StellarRpc
from provider.doctor.finding import Finding, advise, fail, ok, skipped
from provider.doctor.rpc import UNREADABLE
from provider.errors import StoreUnavailable
from provider.jobs.reconcile.unknown import unknown_payments
from provider.jobs.store.jobs import JobStore


def check_payee(rpc: StellarRpc, pay_to: str, contract: str) -> list[Finding]:
    """Check that the account we are paid to can receive the token. Contracts (C…) need nothing."""
    if pay_to.startswith("C"):
        return [skipped("payTo account", "a contract needs neither account nor trustline")]
    try:
        payee = read_payee(rpc, pay_to, contract)
    except UNREADABLE as error:
        todo = "mend the RPC, or ASSET if there is no such contract"
        return [fail("payTo account", f"{type(error).__name__}: {error}", todo)]
    if not payee.exists:
        return [fail("payTo account", "does not exist", f"send some XLM to {pay_to}, or mend PAY_TO")]
    return [ok("payTo account", "exists"), _trustline(payee)]


def check_store(rpc: StellarRpc, store: JobStore, pay_to: str, asset: str) -> Finding:
    """Look for payments to our account that no job of this store knows: one PAY_TO has one store."""
    name = "payTo payments"
    try:
        unknown = unknown_payments(rpc, store, pay_to, asset)
    except (*UNREADABLE, StoreUnavailable) as error:
        return skipped(name, f"cannot be read now ({type(error).__name__})")
    if not unknown:
        return ok(name, "each belongs to a job of this store")
    todo = "give each store its own PAY_TO, or have both use one store; other income is no fault"
    return advise(name, f"{len(unknown)} belong to no job here, the latest in {unknown[0]}", todo)


def _trustline(payee: Payee) -> Finding:
    name, line = "payTo trustline", payee.trustline
    issuer = payee.asset.rpartition(":")[2]
    if not payee.needs_trustline:
        return ok(name, "needs none")
    if line is None:
        return fail(name, f"none for {payee.asset}", "add it with a change-trust operation signed by PAY_TO")
    if not line.authorized:
        return fail(name, f"{payee.asset} is not authorised", f"ask the issuer {issuer} to authorise it")
    if line.room <= 0:
        return fail(name, f"{payee.asset} is full", "raise its limit, or move the balance elsewhere")
    return ok(name, payee.asset)
