"""/llms.txt: enough to buy by (issue 13.3). Red before: 404."""

import re

from tests.integration.web.conftest import Shop


def test_a_script_buys_by_the_text_alone(shop: Shop) -> None:
    """Each address answers a price, takes a payment, and the job is where the text says."""
    answer = shop.client.get("/llms.txt")
    assert answer.content_type.startswith("text/plain")
    found = re.findall(r"^- POST https://shop\.example(\S+): ", answer.text, re.MULTILINE)
    assert {path.rpartition("/")[2] for path in found} == {service.name for service in shop.registry}
    pattern = re.search(r"https://shop\.example(/jobs/)ID", answer.text)
    assert pattern
    for path in found:
        assert shop.client.post(path).status_code == 402
        job = shop.call(path.rpartition("/")[2]).json
        shown = shop.client.get(f"{pattern[1]}{job['id']}", headers={"Accept": "application/json"})
        assert shown.json["id"] == job["id"]


def test_every_address_in_it_is_served(shop: Shop) -> None:
    """What it links is there, and the price it says is that of the 402."""
    text = shop.client.get("/llms.txt").text
    for path in re.findall(r"\(https://shop\.example(\S+)\)", text):
        assert shop.client.get(path).status_code == 200
    assert f"Price: 0.05 of {shop.settings.asset}, taken before it works." in text
    assert shop.client.get("/mcp").status_code == 405
