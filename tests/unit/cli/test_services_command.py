"""`provider services`: a seller checks declarations before anything runs."""

import json

from click.testing import CliRunner

from provider.cli.main import main


def test_what_is_for_sale_is_listed_without_any_setting() -> None:
    """Neither Redis nor an account is needed to look at a declaration."""
    output = CliRunner().invoke(main, ["services"], env={"COLUMNS": "120"}).output
    assert "monte-carlo" in output
    assert "upfront" in output
    told = json.loads(CliRunner().invoke(main, ["services", "--json"]).output)
    assert {"extract-tables", "monte-carlo", "qr-code", "sudoku"} == {one["name"] for one in told}


def test_a_wrong_path_is_told_with_status_2() -> None:
    """As by every process that reads it."""
    done = CliRunner().invoke(main, ["services", "--services", "no.such.module"])
    assert done.exit_code == 2
    assert "no such module" in done.output
