"""Room for large bodies (`provider.web.http.deadlines`); time is tested on the server that is deployed."""

import io
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from provider.errors import BodiesFull
from provider.web.http import deadlines
from provider.web.http.deadlines import LARGE_BYTES, Deadlines

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@pytest.fixture(autouse=True)
def room_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "MOST_LARGE", 1)


def guarded(app: App) -> App:
    return Deadlines(app, body_seconds=9, answer_seconds=9)


def large() -> dict[str, Any]:
    size = LARGE_BYTES + 1
    return {"CONTENT_LENGTH": str(size), "wsgi.input": io.BytesIO(b"x" * size)}


def read_all(environ: dict[str, Any]) -> None:
    while environ["wsgi.input"].read(1000):
        pass


def begin(environ: dict[str, Any]) -> None:
    environ["wsgi.input"].read(10)


def within_another(then: Callable[[dict[str, Any]], None], inner: dict[str, Any]) -> list[bytes]:
    """Serve a large request that does `then`, and another one before it has answered."""

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ is outer:
            then(environ)
            serve(inner, start_response)
        else:
            read_all(environ)
        return [b"done"]

    outer, serve = large(), guarded(app)
    return list(serve(outer, lambda *_: None))


def test_a_body_that_has_arrived_leaves_its_room() -> None:
    """Its call may be held for long. Red while the room was free only after the answer."""
    assert within_another(read_all, large()) == [b"done"]


def test_a_body_that_arrives_keeps_its_room() -> None:
    """The next large one is refused, a small one is not."""
    small = {"CONTENT_LENGTH": "5", "wsgi.input": io.BytesIO(b"small")}
    assert within_another(begin, small) == [b"done"]
    with pytest.raises(BodiesFull):
        within_another(begin, large())


def test_the_room_is_free_after_a_call_that_failed() -> None:
    """Or that read nothing, or not all."""

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["wsgi.input"].read(10)
        raise ZeroDivisionError

    serve = guarded(app)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            serve(large(), lambda *_: None)


def test_an_answer_is_passed_on_piece_by_piece_and_closed() -> None:
    class Answer(list[bytes]):
        closed = False

        def close(self) -> None:
            self.closed = True

    answer = Answer([b"a", b"b"])
    pieces: Any = guarded(lambda *_: answer)(large(), lambda *_: None)
    assert list(pieces) == [b"a", b"b"]
    pieces.close()
    assert answer.closed
