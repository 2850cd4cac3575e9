"""Ctrl-C and SIGTERM as a request: training finishes its step, saves, and only then stops. A second Ctrl-C stops at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

_flag: Any = threading.Event()
_borrowed = False


def asked_to_stop() -> bool:
    return _flag.is_set()


def obey(event: Any) -> None:
    """In a worker process: stop when `event` is set, and leave Ctrl-C to the process that sets it."""
    global _flag, _borrowed
    _flag, _borrowed = event, True
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def stoppable(also: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Inside this, the first SIGINT or SIGTERM makes asked_to_stop() true and calls `also`. Nothing to do in a worker."""
    if _borrowed or threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: Any) -> None:
        if asked_to_stop():
            signal.signal(number, former[number])
            raise KeyboardInterrupt
        _flag.set()
        also()

    for number in former:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        _flag.clear()
