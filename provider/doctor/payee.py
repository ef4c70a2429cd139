"""Can the account that is paid receive the token?"""

from provider.chain.payee import Payee, read_payee
from provider.chain.rpc import StellarRpc
from provider.doctor.finding import Finding, fail, ok, skipped
from provider.doctor.rpc import UNREADABLE


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
