"""What a handler tells its worker arrives whole, for the right job, or not at all (R2)."""

import os
import pickle
import struct
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from provider.jobs.run.framing import Inlet, Outlet, send_in_time


@pytest.fixture
def ends() -> Iterator[tuple[Connection, Connection]]:
    """Both ends: the worker's, and the handler's."""
    ours, theirs = Pipe()
    with ours, theirs:
        yield ours, theirs


def test_half_a_message_is_not_waited_for(ends: tuple[Connection, Connection]) -> None:
    """R2: its sender may be stopped for good; when the rest comes after all, it is one message."""
    inlet, data = Inlet(ends[0]), pickle.dumps("word")
    whole = struct.pack("!QQ", 0, len(data)) + data
    for cut in (3, len(whole) - 1):
        os.write(ends[1].fileno(), whole[:cut])
        assert inlet.next(0.01) is None
        os.write(ends[1].fileno(), whole[cut:])
        assert inlet.next(1) == "word"


def test_messages_of_another_order_are_passed_over(ends: tuple[Connection, Connection]) -> None:
    """J14: they belong to the job before, and to its buyer."""
    inlet = Inlet(ends[0])
    inlet.order = 2
    for order, word in ((1, "late"), (2, "mine"), (1, "later")):
        Outlet(ends[1], order).send(word)
    assert (inlet.next(1), inlet.next(0.01)) == ("mine", None)


def test_several_messages_that_arrived_at_once_are_several(ends: tuple[Connection, Connection]) -> None:
    """A read takes what there is, and that may be more than one."""
    inlet, outlet = Inlet(ends[0]), Outlet(ends[1], 0)
    for number in range(3):
        outlet.send(number)
    assert [inlet.next(1) for _ in range(3)] == [0, 1, 2]


def test_a_closed_end_is_told(ends: tuple[Connection, Connection]) -> None:
    """The handler's death ends its watch."""
    ends[1].close()
    with pytest.raises(EOFError):
        Inlet(ends[0]).next(1)


def test_nobody_waits_for_ever_for_a_reader(ends: tuple[Connection, Connection]) -> None:
    """R2: an order for a process that hangs must not hang its worker."""
    send_in_time(ends[0], 1)
    with pytest.raises(OSError):
        ends[0].send_bytes(bytes(4_000_000))
