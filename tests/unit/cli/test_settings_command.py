"""`provider settings`: the reference page, and what this process would read."""

from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from provider.cli.main import main
from provider.settings import Settings

PAGE = Path(__file__).parents[3] / "docs/reference/settings.md"


def test_the_reference_page_is_what_the_command_prints() -> None:
    """Else: `provider settings --markdown > docs/reference/settings.md`."""
    assert CliRunner().invoke(main, ["settings", "--markdown"]).output == PAGE.read_text()


def test_no_name_is_cut_off_at_80_columns() -> None:
    """Whoever sets a variable needs its name whole, and its default."""
    output = CliRunner().invoke(main, ["settings"], env={"COLUMNS": "80"}).output
    assert all(one.name.upper() in output.split() for one in fields(Settings))
    assert max(len(line) for line in output.splitlines()) <= 80


def test_a_secret_value_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL may carry a password."""
    monkeypatch.setenv("FACILITATOR_API_KEY", "hush-1")
    monkeypatch.setenv("REDIS_URL", "redis://:hush-2@127.0.0.1/0")
    output = CliRunner().invoke(main, ["settings"], env={"COLUMNS": "200"}).output
    assert "FACILITATOR_API_KEY" in output
    assert "hush" not in output
