"""Handlers that misbehave, one way each; `do` in the input says which."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from provider.services import Context

Value = dict[str, Any]


def flood(value: Value, context: Context) -> None:
    """Tell progress for ever."""
    while True:
        context.progress(1)


def hold_the_gil(value: Value, context: Context) -> None:
    """Call into C for minutes, and let no other thread run meanwhile."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def wait_in_a_child(value: Value, context: Context) -> None:
    """Block in a system call that no exception interrupts."""
    subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], check=False)


def wait_to_be_told(value: Value, context: Context) -> Value:
    """Work until told to stop, and say that one was."""
    note(value, str(os.getpid()))
    if context.cancelled.wait(30):
        note(value, "told")
    return {}


def tell_in_turn(value: Value, context: Context) -> Value:
    """Tell progress as the input says: `[pause before it in seconds, done]` each."""
    for pause, done in value["told"]:
        time.sleep(pause)
        context.progress(done, 100)
    time.sleep(value.get("then", 0))
    return {}


def tell_often(value: Value, context: Context) -> Value:
    """Tell progress all the time, for so long."""
    done, ends_at = 0, time.monotonic() + value["seconds"]
    while time.monotonic() < ends_at:
        done += 1
        context.progress(done)
    return {"told": done}


def try_to(value: Value, context: Context) -> Value:
    """Do each thing of a list of `[method, arguments]`; what is raised, and what is known afterwards."""
    raised = []
    for method, arguments in value["calls"]:
        try:
            getattr(context, method)(*arguments)
            raised.append("")
        except Exception as error:
            raised.append(f"{type(error).__name__}: {error}")
    return {"raised": raised, "units": sorted(context.completed_units), "cursors": dict(context.cursors)}


def checkpoint_in_a_child(value: Value, context: Context) -> Value:
    """Checkpoint from a process of its own."""
    if (pid := os.fork()) == 0:
        try:
            context.checkpoint("of a child")
        except Exception as error:
            note(value, type(error).__name__)
        os._exit(0)
    os.waitpid(pid, 0)
    return {}


def tell_context(value: Value, context: Context) -> Value:
    """Tell what the context says, and change the input."""
    context.logger.info("a_line_of_the_handler", row=7)
    value["more"].append("of the handler")
    facts = {"job_id": context.job_id, "attempt": context.attempt, "deadline": context.deadline}
    return {**facts, "cancelled": context.cancelled.is_set(), "input": value}


def note_each_unit(value: Value, context: Context) -> Value:
    """Note down each unit once it is completed."""
    for number in range(value.get("units", 3)):
        time.sleep(value.get("pause", 0))
        context.checkpoint(f"u{number}")
        note(value, f"u{number}{' stopped' if context.cancelled.is_set() else ''}")
    return {"done": True}


def checkpoint_and_end(value: Value, context: Context) -> Value:
    """Complete a unit, and succeed or fail."""
    context.checkpoint("a")
    if value["error"]:
        raise RuntimeError
    return {}


def checkpoints_of_threads(value: Value, context: Context) -> Value:
    """Complete units from many threads at once."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: context.checkpoint(f"u{number}"), range(40)))
    return {"units": len(context.completed_units)}


def odd_cursor(value: Value, context: Context) -> Value:
    """Checkpoint what is no JSON."""
    context.checkpoint("unit", cursor=object())
    return {}


def odd_progress(value: Value, context: Context) -> Value:
    """Tell progress that is no number."""
    context.progress(float("nan"))
    return {}


def many_threads(value: Value, context: Context) -> Value:
    """Tell progress from many threads at once, in messages that the pipe takes in two writes."""
    long = "x" * 20_000
    talk = [
        threading.Thread(target=lambda: [context.progress(1, 2, long) for _ in range(50)]) for _ in range(8)
    ]
    for thread in talk:
        thread.start()
    for thread in talk:
        thread.join()
    return {}


def leave_a_thread(value: Value, context: Context) -> Value:
    """Return, while a thread goes on telling of this job."""
    threading.Thread(target=lambda: [_tell_later(context) for _ in range(50)], daemon=True).start()
    return {}


def _tell_later(context: Context) -> None:
    time.sleep(0.01)
    context.progress(99, message="of an earlier job")
    context.checkpoint("of an earlier job")


def _stop_soon() -> None:
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGSTOP)


def leave_a_stopped_process(value: Value, context: Context) -> Value:
    """Return; the process stops for good right afterwards."""
    threading.Thread(target=_stop_soon, daemon=True).start()
    return {}


def fork(value: Value, context: Context) -> Value:
    """Return twice: once here, and once in a child that came first."""
    if os.fork() == 0:
        return {"by": "child"}
    time.sleep(0.3)
    return {"by": "parent"}


def leave_a_child(value: Value, context: Context) -> None:
    """Start a program that takes minutes, and wait for it."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
    note(value, str(child.pid))
    child.wait()


def use_processes(value: Value, context: Context) -> Value:
    """Have the work done by processes, as much number crunching is."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return {"sum": sum(pool.map(abs, [-1, -2]))}


def die_before_a_child(value: Value, context: Context) -> None:
    """Die, while a child holds all that was open."""
    if os.fork() == 0:
        time.sleep(60)
    os._exit(1)


def leave(value: Value, context: Context) -> None:
    """End as a command line tool would."""
    sys.exit("a secret of the seller")


def interrupt(value: Value, context: Context) -> None:
    """Raise what is no Exception."""
    raise KeyboardInterrupt


def units(value: Value, context: Context) -> Value:
    """Complete a unit an attempt, note where the next one stands, and hang until the third attempt."""
    done = len(context.completed_units)
    note(value, f"{context.attempt} {sorted(context.completed_units)} {dict(context.cursors)}")
    context.checkpoint(f"u{done}")
    context.checkpoint(f"u{done + 1}", cursor={"at": done})
    if done < 2:
        time.sleep(60)
    return {"units": sorted(context.completed_units), "open": dict(context.cursors)}


def half_way(value: Value, context: Context) -> Value:
    """Tell progress and fail."""
    context.progress(1, 2)
    context.progress(2, 3)
    raise RuntimeError


def slow(value: Value, context: Context) -> Value:
    """Take a while."""
    note(value, str(os.getpid()))
    time.sleep(value.get("seconds", 1.0))
    return {"done": True}


def quick(value: Value, context: Context) -> Value:
    """Answer at once."""
    return {"done": True}


def note(value: Value, text: str) -> None:
    """Leave a line where the test looks."""
    with Path(value["notes"]).open("a") as notes:
        notes.write(text + "\n")


HANDLERS: dict[str, Callable[[Value, Context], Any]] = {
    handler.__name__: handler
    for handler in (flood, hold_the_gil, wait_in_a_child, wait_to_be_told, odd_cursor, odd_progress)
    + (many_threads, leave_a_thread, units, half_way, slow, quick, leave_a_stopped_process)
    + (tell_in_turn, tell_often, try_to, checkpoint_in_a_child, checkpoints_of_threads)
    + (tell_context, note_each_unit, checkpoint_and_end)
    + (fork, leave_a_child, leave, interrupt, use_processes, die_before_a_child)
}


def misbehave(value: Value, context: Context) -> Any:
    """Do what the input says."""
    return HANDLERS[value["do"]](value, context)
