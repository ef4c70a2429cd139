"""`provider init`: what a seller begins with."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from honcho.environ import parse_procfile

from provider import __version__
from provider.cli.main import main

ROOT = Path(__file__).parents[3]
FILES = {
    ".gitignore",
    "Procfile",
    "README.md",
    "config/flower.py",
    "config/gunicorn.py",
    "config/redis.conf",
    "requirements.txt",
    "services.py",
    "tasks/__init__.py",
    "tasks/app.py",
    "tests/__init__.py",
    "tests/test_services.py",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Write a project into a directory that is not there yet."""
    done = CliRunner().invoke(main, ["init", str(tmp_path / "my" / "shop")])
    assert done.exit_code == 0, done.output
    return tmp_path / "my" / "shop"


def test_a_project_has_the_shape_of_this_repository(shop: Path) -> None:
    """No compiled file of the template is among it."""
    assert {str(path.relative_to(shop)) for path in shop.rglob("*") if path.is_file()} == FILES
    assert parse_procfile((shop / "Procfile").read_text()).processes.keys() == (
        parse_procfile((ROOT / "Procfile").read_text()).processes.keys()
    )
    assert (shop / "config/redis.conf").read_text() == (ROOT / "config/redis.conf").read_text()


def test_a_project_names_itself_and_the_version_it_was_made_with(shop: Path) -> None:
    """A server installs that one."""
    assert (shop / "requirements.txt").read_text() == f"x402-provider[platform]=={__version__}\n"
    assert (shop / "README.md").read_text().startswith("# shop\n")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["pytest", "-q", "-p", "no:cacheprovider"], "3 passed"),
        (["provider.cli.main", "services"], "word-count"),
    ],
)
def test_a_project_is_right_as_it_is(shop: Path, command: list[str], shown: str) -> None:
    """Its own tests pass, and its services are found without any setting."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=shop,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, shown in done.stdout) == (0, True), done.stdout + done.stderr


def test_an_empty_directory_may_be_there(tmp_path: Path) -> None:
    """As after `mkdir shop && cd shop`."""
    assert CliRunner().invoke(main, ["init", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize("name", ["notes.txt", ".hidden"])
def test_a_directory_that_holds_something_is_refused(tmp_path: Path, name: str) -> None:
    """With a sentence, and nothing is written."""
    (tmp_path / name).touch()
    done = CliRunner().invoke(main, ["init", str(tmp_path)])
    assert (done.exit_code, done.output) == (
        1,
        f"Error: {tmp_path} is not an empty directory; name a new one.\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_is_refused(tmp_path: Path) -> None:
    """It is no directory at all."""
    (tmp_path / "shop").touch()
    done = CliRunner().invoke(main, ["init", str(tmp_path / "shop")])
    assert "is not an empty directory" in done.output


def test_a_directory_that_cannot_be_made_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    """Red while it was a traceback."""
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, ["init", str(tmp_path / "file" / "shop")])
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")


def test_the_tutorial_shows_the_service_that_is_written(shop: Path) -> None:
    """Letter by letter."""
    shown = (ROOT / "docs" / "tutorial.md").read_text().partition("```python\n")[2].partition("```")[0]
    assert shown == (shop / "services.py").read_text()
