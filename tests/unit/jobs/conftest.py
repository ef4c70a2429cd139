"""Records to test with."""

import pytest

from provider.jobs.model.job import Terms
from provider.services import ChargePolicy


@pytest.fixture
def terms() -> Terms:
    """Give the terms of an on-success job, with the widest values there can be."""
    return Terms(
        charge=ChargePolicy.ON_SUCCESS,
        network="stellar:testnet",
        asset="C" * 56,
        payer="G" * 56,
        pay_to="G" * 56,
        amount=2**127 - 1,
        nonce=-(2**63),
        expiration_ledger=2**32 - 1,
        claim_ledger=None,
        max_timeout_seconds=300,
    )
