"""Documentation that names things of the code names things that exist."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from provider.cli.main import main
from provider.settings import Settings

ROOT = Path(__file__).parents[2]
FOLDERS = ("bench", "docs", "provider")
DOCS = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
PAGES = pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
CONSTANT = re.compile(r'^[A-Z_]+ = "([a-z]+(?:_[a-z]+)*)"$', re.M)
EVENT_MODULES = (
    "provider/jobs",
    "provider/payments",
    "provider/web",
    "provider/remote_worker",
    "provider/workers",
    "provider/broker",
)
NOT_EVENTS = {"services", "provider", "maintenance", "provider_round", "exact"}
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}

OTHER_VARIABLES = {
    *("FACILITATOR_SECRET", "BUYER_SECRET"),  # Options of commands name the variable that holds a secret.
    *("PROVIDER_URL", "PROVIDER_WORKER_TOKEN"),
    *(
        "JOB_ID",
        "JOB_SERVICE",
        "JOB_ATTEMPT",
        "JOB_DEADLINE",
        "JOB_CONTEXT",
        "JOB_MESSAGES",
        "JOB_MESSAGES_FD",
    ),
    *("FLOWER_BASIC_AUTH", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"),
    "REDIS_SERVER",  # Names the server that `provider dev` and the tests run.
    "LOAD_SECONDS",  # Makes a test of ours as long as it was meant.
}
WORDS_OF_OTHERS = {"EX_TEMPFAIL", "EX_DATAERR", "ADDRESS_V2", "NOT_FOUND", "TRY_AGAIN_LATER"}
CODE = re.compile(r"```[a-z]*\n(.*?)```|``?([^`\n]+)``?", re.S)
COMMAND = re.compile(r"(?:^|[\s/$(])provider ([a-z][a-z-]+)((?:\\\n|[^\n#|])*)", re.M)


def code_of(page: Path) -> Iterator[str]:
    """Give what a page sets in code font, spans and blocks."""
    for block, span in CODE.findall(page.read_text()):
        yield block or span


def commands_of(page: Path) -> Iterator[tuple[str, str]]:
    """Give the `provider` commands of a page, each with its arguments."""
    for text in code_of(page):
        if not text.lstrip().startswith(("from ", "import ")):
            yield from COMMAND.findall(text)


# Logs


def sources() -> Iterator[Path]:
    for folder in EVENT_MODULES:
        yield from (ROOT / folder).rglob("*.py")


def events() -> set[str]:
    """Collect the log events of web and workers, which are constants."""
    return {name for path in sources() for name in CONSTANT.findall(path.read_text())} - NOT_EVENTS


def test_every_log_event_is_explained_to_operators() -> None:
    """What an operator can see in a log stands in docs/operations.md."""
    told = (ROOT / "docs" / "operations.md").read_text()
    assert len(events()) > 40
    assert {name for name in events() if f"`{name}`" not in told} == set()


@pytest.mark.parametrize("path", sorted(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_log_events_are_constants(path: Path) -> None:
    """Else the test above would not see them."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert [
        call.lineno for call in calls if is_log_call(call) and not isinstance(call.args[0], ast.Name)
    ] == []


def is_log_call(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id in ("log", "logger") and function.attr in LEVELS


# Links, commands, settings


@PAGES
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    """Files and headings; what is elsewhere belongs to other people."""
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text())
    for link, anchor in links:
        if "://" in link or link.startswith("mailto:"):
            continue
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), anchor


def anchors(page: Path) -> set[str]:
    """Spell the headings of a page as GitHub does."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@PAGES
def test_commands_named_in_a_page_exist(page: Path) -> None:
    """With the options that are given to them."""
    context = click.Context(main)
    for name, arguments in commands_of(page):
        command = main.get_command(context, name)
        if isinstance(command, click.Group) and (words := arguments.split()):
            command = command.get_command(context, words[0])
        assert command is not None, (name, arguments)
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert set(re.findall(r"(?<!\S)\[?(--[a-z-]+)", arguments)) <= known, arguments


def test_commands_are_found_in_spans_and_blocks() -> None:
    """The test above is worth nothing if it sees none."""
    named = {name for page in DOCS for name, _ in commands_of(page)}
    assert {"dev", "pay", "reconcile", "sweep", "doctor", "worker", "facilitator", "chain"} <= named


@PAGES
def test_settings_named_in_a_page_exist(page: Path) -> None:
    """A variable in code font is a setting, or one of few others."""
    known = {field.name.upper() for field in fields(Settings)} | OTHER_VARIABLES
    named = {
        name for text in code_of(page) for name in re.findall(r"(?<![\w.])[A-Z]+(?:_[A-Z0-9]+)+\b", text)
    }
    assert named <= known | WORDS_OF_OTHERS


# Pages


def test_the_index_lists_every_page() -> None:
    """docs/README.md is where a reader starts."""
    docs = ROOT / "docs"
    told = (docs / "README.md").read_text() + (docs / "adr" / "README.md").read_text()
    pages = [page for page in docs.rglob("*.md") if page.name != "README.md"]
    assert [page.name for page in pages if f"{page.name})" not in told] == []


def test_the_glossary_has_the_words_of_the_standard() -> None:
    """Standard §0 fixes them."""
    standard = (ROOT / "docs" / "standard.md").read_text()
    sentence = re.search(r"Words, used everywhere with this meaning: (.*?)\. Payment words", standard, re.S)
    assert sentence is not None
    words = re.findall(r"[a-z][a-z -]+", re.sub(r"\([^)]*\)", "", sentence[1]).replace("\n", " "))
    entries = re.findall(r"^\| \*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    assert len(words) > 10
    assert {word.strip() for word in words} - {
        word for entry in entries for word in entry.split(", ")
    } == set()


# Security


def test_every_threat_has_its_test_and_every_test_its_threat() -> None:
    """The page and tests/strangers/ are one table."""
    named = set(re.findall(r"`(tests/[a-z_/]+\.py)`", (ROOT / "docs" / "security.md").read_text()))
    assert {path for path in named if not (ROOT / path).exists()} == set()
    threats = {str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "strangers").glob("test_*.py")}
    assert threats - named == set()
