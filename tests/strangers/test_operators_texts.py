"""A buyer provokes errors to read what is meant for operators (issue 9.15)."""

import pytest

from tests.integration.web.conftest import Shop
from tests.support.facilitator import Answer

SENTENCE = "fetch failed: https://operator:hunter2@rpc.example/v1?api-key=hunter3 refused"
SECRETS = ("hunter2", "operator", "127.0.0.1", "/verify")


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"<html>hunter2</html>"),
        (200, b"{"),
        (200, {"isValid": "hunter2"}),
        (302, {}),
        (429, {"error": "hunter2"}),
        (200, {"isValid": False, "invalidReason": "unexpected_verify_error"}),
    ],
    ids=["html", "cut short", "no verdict", "redirect", "too many", "its own failure"],
)
def test_no_answer_of_the_facilitator_shows_where_it_is(
    shop: Shop, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    """Red before: the detail named FACILITATOR_URL with user and password. The log names it without them."""
    shop.facilitator.verify = lambda _: answer
    shop.facilitator.url = shop.facilitator.url.replace("http://", "http://operator:hunter2@")
    reply = shop.call()
    assert (reply.status_code, reply.json["code"]) == (503, "facilitator_unreachable")
    assert [word for word in SECRETS if word in reply.text] == []
    assert "/verify gave no usable answer" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("said", [SENTENCE, "two\nlines", "x" * 101], ids=["sentence", "lines", "length"])
def test_a_reason_that_is_no_word_is_for_the_log(
    shop: Shop, caplog: pytest.LogCaptureFixture, said: str
) -> None:
    """Red before: 200 characters of it stood in the `error` of the 402."""
    shop.facilitator.refuse(said)
    reply = shop.call()
    assert (reply.status_code, reply.json["error"]) == (402, "invalid_payment")
    assert "facilitator_reason" in caplog.text
    assert "hunter" not in caplog.text


def test_a_reason_that_is_a_word_is_for_the_buyer(shop: Shop) -> None:
    """As before: it says what to do about the payment."""
    shop.facilitator.refuse("insufficient_funds")
    assert shop.call().json["error"] == "insufficient_funds"
