"""The Lua scripts as text: what Redis would only show when it is too late (C6, style 1)."""

import re
from importlib import resources

import pytest

SCRIPTS = {
    entry.name.removesuffix(".lua"): entry.read_text()
    for entry in (resources.files("provider.jobs.store") / "lua").iterdir()
}
NEW_WORK = {"claim", "create", "reserve"}
_CALL = re.compile(r"redis\.call\((?:'([A-Z]+)'|ARGV\[1\])(?:, ([^,)]+))?")
_WRITES = re.compile(r"'(HSET|HDEL|HINCRBY|PEXPIRE|PERSIST|ZADD|ZREM|DEL|SET|PUBLISH)'|call\(ARGV")
_REFUSES = re.compile(r"return (false|0|'\w+'|\{0)")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_takes_new_work_is_refused_in_a_full_store_and_no_other(name: str) -> None:
    """C6: `#!lua` alone is refused whole; money state can always be closed."""
    header = SCRIPTS[name].splitlines()[0]
    assert header == ("#!lua" if name in NEW_WORK else "#!lua flags=allow-oom")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_refuses_before_it_writes(name: str) -> None:
    """C6: Lua does not roll back. The last line gives the answer of what was done."""
    lines = [line for line in SCRIPTS[name].splitlines() if not line.startswith("--")]
    first_write = next(number for number, line in enumerate(lines) if _WRITES.search(line))
    assert not [line for line in lines[first_write + 1 : -1] if _REFUSES.search(line)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_touches_declared_keys_only(name: str) -> None:
    """J7: nothing but `KEYS[n]`."""
    keys = [key for command, key in _CALL.findall(SCRIPTS[name]) if command != "TIME"]
    assert keys
    assert all(re.fullmatch(r"KEYS\[[1-8]\]", key) for key in keys), keys


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_what_it_does(name: str) -> None:
    """Style 1: what, KEYS, Returns; short enough to be read at once."""
    text = SCRIPTS[name]
    assert text.splitlines()[1].startswith("-- ")
    assert "-- KEYS  1 " in text
    assert "-- Returns " in text
    assert len(text.splitlines()) <= 45
