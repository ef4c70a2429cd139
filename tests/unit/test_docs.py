"""Documentation that names things of the code names things that exist."""

import re
from pathlib import Path

import pytest

from provider.cli.main import main

ROOT = Path(__file__).parents[2]
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CONSTANT = re.compile(r'^[A-Z_]+ = "([a-z]+(?:_[a-z]+)*)"$', re.M)
EVENT_MODULES = ("provider/jobs", "tasks")
NOT_EVENTS = {"services", "provider"}


def events() -> set[str]:
    """Collect the log events of workers, which are constants."""
    sources = [path.read_text() for folder in EVENT_MODULES for path in (ROOT / folder).glob("*.py")]
    return {name for text in sources for name in CONSTANT.findall(text)} - NOT_EVENTS


def test_every_log_event_is_explained_to_operators() -> None:
    """What an operator can see in a log stands in docs/operations.md."""
    told = (ROOT / "docs" / "operations.md").read_text()
    assert len(events()) > 20
    assert {name for name in events() if f"`{name}`" not in told} == set()


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    """Relative links only; others belong to other people."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    relative = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in relative if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_named_in_a_page_exist(page: Path) -> None:
    """`provider something` in code font is a command."""
    if page.name == "standard.md":
        return  # It names commands of later releases, too.
    named = set(re.findall(r"`provider ([a-z][a-z-]+)[ `]", page.read_text()))
    assert named <= set(main.list_commands(None))  # type: ignore[attr-defined]
