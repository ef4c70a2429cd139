"""The Lua scripts as callables: shipped as package data, loaded once, run by their SHA."""

from collections.abc import Callable, Iterable
from importlib import resources
from typing import Any

from redis import Redis

from provider.jobs.store.client import reaching_redis

STEPS = (
    "claim",
    "create",
    "lease",
    "renew",
    "ask_cancel",
    "move",
    "begin_settlement",
    "withdraw_settlement",
)
"""Scripts after which a process may die with something new on record; crash tests hold a row for each."""


_FOLDER = resources.files("provider.jobs.store") / "lua"


def script(name: str) -> str:
    """Read the text of one script, for a pipeline that cannot run it by its SHA."""
    return (_FOLDER / f"{name}.lua").read_text()


class Scripts:
    """Run a script by its name: `scripts("move", keys, args)`.

    `after` is called with the script's name once its effects are stored; crash tests hook in there.
    """

    def __init__(self, client: "Redis") -> None:
        self._scripts = {
            entry.name.removesuffix(".lua"): client.register_script(entry.read_text())
            for entry in _FOLDER.iterdir()
            if entry.name.endswith(".lua")
        }
        self.after: Callable[[str], None] = lambda name: None

    def __call__(self, name: str, keys: Iterable[str], args: Iterable[Any]) -> Any:
        """Run one script. Raises StoreUnavailable when Redis does not answer or refuses."""
        with reaching_redis():
            answer = self._scripts[name](keys=list(keys), args=list(args))
        self.after(name)
        return answer
