"""Every setting, read once from the environment into one frozen record.

The record is the only place where the rest of the code meets the environment. Wrong values stop the
process at start, all of them in one message. `docs/reference/settings.md` is generated from the fields.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from environs import Env, EnvValidationError, ValidationError, validate

from provider.errors import SettingsError
from provider.networks import EXPLORERS, PUBNET, TESTNET, USDC, is_account, is_contract

DEFAULT_SERVICES = "services"
"""The module that `provider init` writes."""
CLUSTER_SCHEME = "+cluster://"
"""Ends the scheme of a URL that lists the nodes of a Redis Cluster by comma."""


def _setting(default: Any, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a deployment can choose. The environment variable is the field's name in capitals."""

    public_url: str = _setting("http://127.0.0.1:8000", "URL under which buyers reach the web process.")
    provider_services: str = _setting(DEFAULT_SERVICES, "Import paths of registries, by comma.")
    redis_url: str = _setting("redis://127.0.0.1:6379/0", "Claims and jobs; must be durable (standard C4).")
    broker_url: str = _setting("", "Celery's wake-ups; disposable. Default: REDIS_URL.")
    network: str = _setting(TESTNET, "CAIP-2 id of the network: stellar:testnet or stellar:pubnet.")
    asset: str = _setting("", "Contract id (C…) of the token. Default: USDC of the network.")
    pay_to: str = _setting("", "Account (G…) or contract (C…) that is paid. Required.")
    facilitator_url: str = _setting("http://127.0.0.1:8200", "Base URL of the x402 facilitator.")
    facilitator_api_key: str = _setting("", "Bearer token for the facilitator, if it wants one.")
    stellar_rpc_urls: tuple[str, ...] = _setting((), "Stellar RPCs, by comma; the second must agree (§10).")
    client_address: str = _setting(
        "public", "Tells clients apart: public, connection, or forwarded:N behind N proxies (docs/deploy.md)."
    )
    request_wait_seconds: int = _setting(25, "Longest time a request is held by Prefer: wait.")
    call_wait_seconds: float = _setting(4.0, "Time in which a call without Prefer is answered (H3).")
    verify_timeout_seconds: float = _setting(10.0, "Time allowed for the facilitator's /verify.")
    settle_timeout_seconds: float = _setting(90.0, "Time allowed for the facilitator's /settle.")
    settle_margin_seconds: float = _setting(10.0, "Time kept free before a payment expires (S2).")
    lease_seconds: float = _setting(30.0, "How long a worker holds a job before it must renew.")
    max_attempts: int = _setting(3, "Starts of a job whose workers die, unless its service says.")
    checkpoint_name_bytes: int = _setting(200, "Most bytes of a unit's name (R5).")
    checkpoint_cursor_bytes: int = _setting(65_536, "Most bytes of a unit's cursor, as JSON.")
    checkpoint_units: int = _setting(10_000, "Most units of one job, completed and open.")
    checkpoint_total_bytes: int = _setting(1_048_576, "Most bytes of one job's units and cursors together.")
    orphan_margin_seconds: float = _setting(60.0, "Grace before a silent settlement is given up (§9).")
    reservation_seconds: float = _setting(30.0, "How long an unpaid place in a lane is kept (Q3).")
    sweep_seconds: float = _setting(15.0, "Interval of the recovery sweep.")
    sweep_batch: int = _setting(500, "Most jobs a sweep looks at in one run.")
    retention_seconds: float = _setting(7 * 86400.0, "How long finished jobs are kept.")
    uncharged_retention_seconds: float = _setting(3600.0, "How long those are kept that cost nothing (J15).")
    payer_open_jobs: int = _setting(10, "Most open on-success jobs of one payer and service (S5).")
    payer_unpaid_jobs: int = _setting(3, "Jobs left unpaid after work before their payer is refused (S5).")
    payer_unpaid_seconds: float = _setting(3600.0, "How long after the last of them it is refused.")
    ledger_seconds: float = _setting(5.0, "Seconds a ledger takes while it could not be measured.")
    durability_timeout_ms: int = _setting(3000, "Longest wait for Redis to confirm a write on disk (C7).")
    worker_stop_seconds: float = _setting(20.0, "Time a stopping worker gives its running jobs.")
    redis_timeout_seconds: float = _setting(1.5, "Longest wait for one Redis command (C5).")
    redis_connections: int = _setting(50, "Most connections of one process to the job store.")
    explorer_url: str = _setting(
        "", "Page of a {transaction} on a block explorer, or none. Default: stellar.expert."
    )
    log_level: str = _setting("INFO", "DEBUG, INFO, WARNING or ERROR.")
    web_read_seconds: float = _setting(20.0, "Longest time a request may take to arrive, its head at most 5.")
    web_streams: int = _setting(2000, "Most event streams and held answers of one web process.")
    web_processes: int = _setting(1, "Web processes behind one port.")

    @classmethod
    def from_env(cls) -> "Settings":
        """Read the environment. Raises SettingsError naming every wrong variable at once."""
        env = Env(eager=False)
        values = {f.name: _read(env, f.name, f.default) for f in fields(cls)}
        values["broker_url"] = values["broker_url"] or values["redis_url"]
        values["asset"] = values["asset"] or USDC.get(values["network"], "")
        values["explorer_url"] = _explorer(values["explorer_url"], values["network"])
        try:
            env.seal()
        except EnvValidationError as error:
            texts: Any = error.error_messages
            raise SettingsError([_problem(n, text) for n in texts for text in texts[n]]) from None
        if CLUSTER_SCHEME in values["broker_url"]:
            raise SettingsError(["BROKER_URL: a Redis Cluster carries no messages; name a Redis or RabbitMQ"])
        return cls(**values)


def _read(env: Env, name: str, default: Any) -> Any:
    """Parse one variable by the type of its default, with the check that belongs to it."""
    key = name.upper()
    check = CHECKS.get(name)
    if isinstance(default, tuple):
        return tuple(env.list(key, list(default), subcast=str.strip, validate=check) or ())
    if isinstance(default, int):
        return env.int(key, default, validate=check or validate.Range(min=1))
    if isinstance(default, float):
        return env.float(key, default, validate=check or validate.Range(min=0, min_inclusive=False))
    given = (
        env.str(key, validate=_bare(check))
        if name in REQUIRED
        else env.str(key, default, validate=_bare(check))
    )
    return given.strip() if isinstance(given, str) else given


def _bare(check: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """Judge a text as it is used: a file of secrets may end it with a line."""
    return check and (lambda value: check(value.strip()))


def _explorer(given: str, network: str) -> str:
    """Fill in the explorer of the network; empty when there shall be none."""
    return "" if given == "none" else given or EXPLORERS.get(network, "")


def _problem(variable: str, text: str) -> str:
    """Say what to do about a missing variable, where environs only says that it is missing."""
    return f"{variable}: {REQUIRED[variable.lower()] if text == NOT_SET else text}"


def _is_payee(value: str) -> None:
    if not (is_account(value) or is_contract(value)):
        raise ValidationError("must be a Stellar account (G…) or contract (C…) id")


def _is_contract(value: str) -> None:
    if value and not is_contract(value):
        raise ValidationError("must be the contract id (C…) of a token")


_ANY_URL = validate.URL(
    schemes={"http", "https"}, require_tld=False, error="must be an http:// or https:// URL"
)


def _is_base_url(value: str) -> None:
    """Refuse also what would end up in the middle of addresses that are built from it."""
    _ANY_URL(value)
    if "?" in value or "#" in value:
        raise ValidationError("must be a base URL, without ?query or #fragment")


_REDIS_URL = validate.Regexp(
    r"(rediss?(\+cluster)?|unix)://",
    error="must be a redis://, rediss://, unix://, redis+cluster:// or rediss+cluster:// URL",
)
_BROKER_URL = validate.Regexp(
    r"$|(rediss?(\+cluster)?|unix|amqps?|memory)://",
    error="must be a redis://, rediss://, unix://, amqp:// or amqps:// URL",
)


_EXPLORER_URL = validate.Regexp(
    r"$|none$|https?://[^\s{}]+\{transaction\}[^\s{}]*$",
    error="must be none or an http:// or https:// URL with {transaction} in it",
)


_CLIENT_ADDRESS = validate.Regexp(
    r"(public|connection|forwarded(:[1-9])?)$",
    error="must be public, connection, or forwarded:N where N proxies stand before web (1 to 9)",
)


def _are_urls(values: list[str]) -> None:
    for value in values:
        _ANY_URL(value)


NOT_SET = "Environment variable not set."
REQUIRED = {"pay_to": "is not set; name the Stellar account (G…) or contract (C…) that is to be paid"}
"""What to do about a setting that has no default."""
CHECKS: dict[str, Callable[[Any], Any]] = {
    "public_url": _is_base_url,
    "facilitator_url": _is_base_url,
    "stellar_rpc_urls": _are_urls,
    "redis_url": _REDIS_URL,
    "broker_url": _BROKER_URL,
    "explorer_url": _EXPLORER_URL,
    "client_address": _CLIENT_ADDRESS,
    "network": validate.OneOf([TESTNET, PUBNET]),
    "asset": _is_contract,
    "pay_to": _is_payee,
    "log_level": validate.OneOf(["DEBUG", "INFO", "WARNING", "ERROR"]),
}
