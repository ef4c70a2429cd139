"""The key space: every key under the table, one hash tag a service."""

import inspect
import re

import pytest
from redis.crc import key_slot

from provider.jobs.model.job_id import split
from provider.jobs.store import keys

TOKEN = "0123456789abcdef" * 2
JOB = f"qr-code.{TOKEN}"
OF_JOB = {"job": keys.job(JOB), "work": keys.work(JOB)}
OF_SERVICE = {
    function.__name__: function("qr-code")
    for function in (
        *(keys.index, keys.lane, keys.slots, keys.due, keys.kept),
        *(keys.reserved, keys.pace, keys.fence),
    )
}
OTHERS = {
    "claim": keys.claim("ab" * 32),
    "identifier": keys.identifier("G", "order-0001-0001-00"),
    "receipt": keys.receipt("AB" * 32),
    "uncharged": keys.kept("qr-code", charged=False),
    "contradicted": keys.contradicted("qr-code"),
    "audit_later": keys.AUDIT_LATER,
    "client_key": keys.CLIENT_KEY,
    "open_jobs": keys.open_jobs("qr-code", "G" * 56),
    "unpaid": keys.unpaid("qr-code", "G" * 56),
    "services": keys.SERVICES,
    "workers": keys.WORKERS,
    "cursor": keys.RECONCILE_CURSOR,
    "clock": keys.CLOCK,
    "figures": keys.FIGURES,
    "round_of": keys.round_of("sweep"),
}
_ROW = re.compile(r"^\| `(provider:[^`]+)` \|", re.MULTILINE)


def _pattern(row: str) -> str:
    pattern = re.escape(row).replace("<hex>", "[0-9a-f]{32}").replace("<entry>", "[^:]+")
    return (
        pattern.replace(r"\{S\}", r"\{[a-z0-9-]+\}")
        .replace(":D", ":[0-9a-f]{32,64}")
        .replace("<payer>", "[A-Z0-9]{56}")
    )


@pytest.mark.parametrize("key", [*OF_JOB.values(), *OF_SERVICE.values(), *OTHERS.values()])
def test_each_key_stands_in_the_table(key: str) -> None:
    """Style 2: all keys under the table that explains them."""
    rows = _ROW.findall(keys.__doc__ or "")
    assert sum(re.fullmatch(_pattern(row), key) is not None for row in rows) == 1


def test_the_table_has_no_row_without_a_key() -> None:
    """A row that explains nothing misleads."""
    known = [*OF_JOB.values(), *OF_SERVICE.values(), *OTHERS.values()]
    for row in _ROW.findall(keys.__doc__ or ""):
        assert any(re.fullmatch(_pattern(row), key) for key in known), row


def test_this_file_knows_every_function_that_makes_a_key() -> None:
    """A new key needs a row, and a case above."""
    makers = {
        name for name, function in vars(keys).items() if inspect.isfunction(function) and name[0] != "_"
    } - {"split", "job_id_of", "place", "split_place", "belongs"}
    assert makers <= set(OF_JOB) | set(OF_SERVICE) | set(OTHERS)


def test_all_keys_of_a_service_share_a_slot() -> None:
    """J7: a script may touch them together on a cluster."""
    assert len({key_slot(key.encode()) for key in (*OF_JOB.values(), *OF_SERVICE.values())}) == 1


def test_claims_do_not_share_a_slot() -> None:
    """J7: the claim key lives in its own."""
    slots = {key_slot(keys.claim(f"{number:064x}").encode()) for number in range(100)}
    assert len(slots) > 90


def test_a_job_id_names_its_service_and_its_key() -> None:
    """A job is found without a second index."""
    assert split(JOB) == ("qr-code", TOKEN)
    assert keys.job_id_of(keys.job(JOB)) == JOB


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        TOKEN,
        f".{TOKEN}",
        f"qr-code.{TOKEN[:-1]}",
        f"qr-code.{TOKEN.upper()}",
        f"qr-code.{TOKEN}0",
        "a.b",
    ],
)
def test_what_is_no_job_id_is_refused(text: str) -> None:
    """An id comes from a URL: anything may be in it."""
    with pytest.raises(ValueError, match="not a job id"):
        split(text)
