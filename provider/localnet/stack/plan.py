"""What a local platform consists of: accounts, ports, the environment of its processes, its description."""

import os
import secrets
import sys
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from honcho.environ import parse_procfile
from stellar_sdk import Keypair

from provider.facilitator.config import channel_keypair
from provider.localnet.redis_server import find_redis_server
from provider.localnet.stack.ports import LOOPBACK, Ports
from provider.networks import TESTNET, USDC
from provider.settings import DEFAULT_SERVICES

BACK = ("redis", "chain", "facilitator")
"""Processes that others need; they stop last."""
CHANNELS = 4
BUYER_USDC = 100


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One platform. Accounts and passwords are made anew for each run and are worth nothing elsewhere."""

    ports: Ports
    data_dir: Path
    services: str = DEFAULT_SERVICES
    ledger_seconds: float = 5.0
    handle_concurrency: int = 4
    buyer: Keypair = field(default_factory=Keypair.random)
    payee: Keypair = field(default_factory=Keypair.random)
    facilitator: Keypair = field(default_factory=Keypair.random)
    flower_password: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    def commands(self) -> dict[str, str]:
        """Read the shell commands by process type."""
        text = (files(__package__) / "Procfile").read_text()
        commands: dict[str, str] = parse_procfile(text).processes
        return commands

    def environment(self) -> dict[str, str]:
        """Build what every process sees: this process's environment under our own settings."""
        no_proxy = ",".join(filter(None, (os.environ.get("NO_PROXY"), LOOPBACK, "localhost")))
        return {
            **os.environ,
            **self._places(),
            **self.settings(),
            "CHAIN_FUNDS": self._funds(),
            "FACILITATOR_SECRET": self.facilitator.secret,
            "FACILITATOR_CHANNELS": str(CHANNELS),
            "HANDLE_CONCURRENCY": str(self.handle_concurrency),
            "FLOWER_BASIC_AUTH": f"dev:{self.flower_password}",
            "NO_PROXY": no_proxy,
            "no_proxy": no_proxy,
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
        }

    def _places(self) -> dict[str, str]:
        return {
            "PYTHON": sys.executable,
            "AFTER": str(files(__package__) / "after.py"),
            "DATA_DIR": str(self.data_dir.absolute()),
            "REDIS_SERVER": str(self.redis_server),
            "REDIS_CONFIG": str(files("provider.localnet") / "redis.conf"),
            **{f"{name}_PORT".upper(): str(port) for name, port in asdict(self.ports).items()},
        }

    def settings(self) -> dict[str, str]:
        """Give what every process of ours reads from its environment."""
        return {
            "PUBLIC_URL": self.web_url,
            "CLIENT_ADDRESS": "connection",
            "PROVIDER_SERVICES": self.services,
            "REDIS_URL": self.redis_url,
            "BROKER_URL": "",
            "NETWORK": TESTNET,
            "ASSET": USDC[TESTNET],
            "EXPLORER_URL": "none",
            "PAY_TO": self.payee.public_key,
            "FACILITATOR_URL": self.facilitator_url,
            "FACILITATOR_API_KEY": "",
            "STELLAR_RPC_URLS": self.rpc_url,
            "LEDGER_SECONDS": str(self.ledger_seconds),
            "WORKER_STOP_SECONDS": "5",
        }

    def _funds(self) -> str:
        """Open every account: USDC for the buyer, a trustline for the payee, XLM for the submitting ones."""
        usdc = {self.buyer.public_key: BUYER_USDC, self.payee.public_key: 0}
        channels = [channel_keypair(self.facilitator.secret, index).public_key for index in range(CHANNELS)]
        return " ".join(f"--fund {account}={usdc.get(account, 0)}" for account in [*usdc, *channels])

    @cached_property
    def redis_server(self) -> Path:
        """The redis-server to run. Raises ConfigurationError."""
        return find_redis_server()

    def _url(self, port: int, scheme: str = "http") -> str:
        return f"{scheme}://{LOOPBACK}:{port}"

    @property
    def web_url(self) -> str:
        return self._url(self.ports.web)

    @property
    def rpc_url(self) -> str:
        return self._url(self.ports.chain)

    @property
    def facilitator_url(self) -> str:
        return self._url(self.ports.facilitator)

    @property
    def flower_url(self) -> str:
        return self._url(self.ports.flower)

    @property
    def redis_url(self) -> str:
        return self._url(self.ports.redis, "redis") + "/0"

    def describe(self, pids: dict[str, int]) -> dict[str, Any]:
        """Describe the platform for scripts that drive it; holds secrets of this run."""
        return {
            "web_url": self.web_url,
            "rpc_url": self.rpc_url,
            "rpc_tls_url": self._url(self.ports.chain_tls, "https"),
            "ca_file": str(self.data_dir.absolute() / "chain" / "ca.pem"),
            "facilitator_url": self.facilitator_url,
            "flower_url": self.flower_url,
            "flower_user": "dev",
            "flower_password": self.flower_password,
            "redis_url": self.redis_url,
            "network": TESTNET,
            "asset": USDC[TESTNET],
            "payTo": self.payee.public_key,
            "facilitator": self.facilitator.public_key,
            "buyer": self.buyer.public_key,
            "buyer_secret": self.buyer.secret,
            "ledger_seconds": self.ledger_seconds,
            "ports": asdict(self.ports),
            "pids": pids,
        }
