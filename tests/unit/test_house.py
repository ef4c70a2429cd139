"""Rules of the house that no import contract can hold (docs/architecture.md)."""

import ast
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
