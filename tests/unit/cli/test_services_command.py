"""`provider services`: a seller checks declarations before anything runs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from provider.cli.main import main


def test_what_is_for_sale_is_listed_without_any_setting() -> None:
    """Neither Redis nor an account is needed to look at a declaration."""
    env = {"COLUMNS": "120", "PROVIDER_SERVICES": "examples.services"}
    output = CliRunner().invoke(main, ["services"], env=env).output
    assert "monte-carlo" in output
    assert "upfront" in output
    told = json.loads(CliRunner().invoke(main, ["services", "--json"], env=env).output)
    assert {"extract-tables", "monte-carlo", "qr-code", "sudoku"} == {one["name"] for one in told}


def test_a_wrong_path_is_told_with_status_2() -> None:
    """As by every process that reads it."""
    done = CliRunner().invoke(main, ["services", "--services", "no.such.module"])
    assert done.exit_code == 2
    assert "no such module" in done.output


def test_what_a_project_sells_is_the_module_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red while it was `examples.services`, which the wheel does not hold."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["services"], env={"PROVIDER_SERVICES": ""})
    assert done.exit_code == 2
    assert "PROVIDER_SERVICES: services: no such module" in done.output
