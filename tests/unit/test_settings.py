"""Settings as operators write them (standard §14)."""

import pytest

from provider.errors import SettingsError
from provider.settings import Settings

PAYEE = "GDEERFUC6A6MRHQEGEXIRV57LOZ4DYQLHK5TAMMQM7QL7MWOHJATDKQS"


@pytest.fixture(autouse=True)
def payee(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what is required, with the line end of a file."""
    monkeypatch.setenv("PAY_TO", f"{PAYEE}\n")


def test_blanks_and_line_ends_around_a_value_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red before: the key went into a header with its line end, and each call to the facilitator failed."""
    monkeypatch.setenv("STELLAR_RPC_URLS", "https://a.example, https://b.example ")
    monkeypatch.setenv("FACILITATOR_API_KEY", "abc\r\n")
    settings = Settings.from_env()
    assert settings.stellar_rpc_urls == ("https://a.example", "https://b.example")
    assert (settings.facilitator_api_key, settings.pay_to) == ("abc", PAYEE)


@pytest.mark.parametrize("name", ["PUBLIC_URL", "FACILITATOR_URL"])
@pytest.mark.parametrize("end", ["?a=b", "#part", "/x?"])
def test_a_base_url_has_neither_query_nor_fragment(
    monkeypatch: pytest.MonkeyPatch, name: str, end: str
) -> None:
    """Red before: `/run/…` was appended to the query, so that no address led anywhere."""
    monkeypatch.setenv(name, f"https://a.example{end}")
    with pytest.raises(SettingsError, match=f"{name}: must be a base URL"):
        Settings.from_env()
