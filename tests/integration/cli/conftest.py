"""Operators' commands over a real Redis, in the test's own process."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner, Result
from structlog.testing import capture_logs

from provider.cli.main import main
from tests.support.jobs import Platform, running_platform


@dataclass
class Desk:
    """Where an operator types."""

    platform: Platform

    def run(self, *arguments: str, typed: str = "", columns: int = 80) -> Result:
        """Run a command; it fails when it raised what it should have told."""
        with capture_logs():
            done = CliRunner().invoke(
                main, arguments, obj=self.platform.made, input=typed or None, env={"COLUMNS": str(columns)}
            )
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    def json(self, *arguments: str) -> Any:
        """Run a command with `--json`."""
        done = self.run(*arguments, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


@pytest.fixture
def desk(redis_url: str) -> Iterator[Desk]:
    with running_platform(redis_url) as platform:
        yield Desk(platform)
