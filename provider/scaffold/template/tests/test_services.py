"""A handler is an ordinary function: its test needs no platform and no money."""

import pytest
from services import services, word_count

from provider.services import DeterministicError
from provider.services.testing import LocalContext


def test_what_is_for_sale_is_declared_well() -> None:
    """Every process checks the same at its start."""
    assert services.problems() == []


def test_words_are_counted() -> None:
    assert word_count({"text": "pay at most once"}, LocalContext()) == {"words": 4}


def test_a_text_without_words_fails() -> None:
    """Its buyer pays nothing."""
    with pytest.raises(DeterministicError):
        word_count({"text": " "}, LocalContext())
