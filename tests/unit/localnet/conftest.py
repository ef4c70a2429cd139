import pytest

from tests.unit.localnet.support import Town, manual_town


@pytest.fixture
def town() -> Town:
    return manual_town()
