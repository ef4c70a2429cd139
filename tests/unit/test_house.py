"""Rules of the house that no import contract can hold (docs/architecture.md)."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import provider

ROOT = Path(provider.__file__).parent


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Give each module of the package: its path below `provider/`, and its syntax tree."""
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def test_only_the_charge_policy_compares_policies() -> None:
    """A policy answers questions: a comparison elsewhere would decide for a third one unasked."""
    named = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ChargePolicy"
    }
    assert named == {"services/charge.py"}


TWO_MEANINGS = {"Meta": "marshmallow's name for the options of a schema"}
"""Class names that two modules define. One that is not needed here any more must go."""


def test_a_class_name_has_one_meaning() -> None:
    """Search for a name before you take it: a reader who knows one of two classes reads the other as it."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in TWO_MEANINGS} == {}
    assert TWO_MEANINGS.keys() - twice.keys() == set()


def test_only_the_store_touches_its_client() -> None:
    """Elsewhere a command would be one that no method of the store names; the composition root makes it."""
    touching = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "client"
        and ast.unparse(node.value).endswith("store")
    }
    assert {path for path in touching if not path.startswith("jobs/store/")} <= {"platform.py"}
