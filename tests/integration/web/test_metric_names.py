"""Metrics that operators are told about, and those that are there."""

import re
from pathlib import Path

from tests.integration.web.conftest import Shop

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


def test_operators_are_told_of_every_metric(shop: Shop) -> None:
    """And of no others."""
    text = shop.client.get("/metrics").text
    shown = set(re.findall(r"^# TYPE (provider_[a-z_]+) ", text, re.M))
    shown = {name for name in shown if not name.endswith("_created")}
    told = set(re.findall(r"`(provider_[a-z_]+)`", OPERATIONS.read_text()))
    assert told == shown
