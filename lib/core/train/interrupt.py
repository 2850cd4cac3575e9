"""Ctrl-C and SIGTERM as a request: training finishes its step, saves, and only then stops. A second Ctrl-C stops at once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

_flag: Any = threading.Event()
_tell: list[Callable[[], None]] = []
_handled = False
_SECONDS_TO_SAVE = 10
at_work = threading.Lock()
"""Held while a worker process does a job."""


def asked_to_stop() -> bool:
    return _flag.is_set()


def stop_on(event: Any) -> None:
    """In a worker process: stop when `event` is set or its parent is gone, and leave Ctrl-C to the process that sets it.

    SIGTERM sets it too; it comes from a batch system, or because another worker died. Then there are seconds to save in.
    """
    global _flag, _handled
    _flag, _handled = event, True

    def leave(number: int, frame: Any) -> None:
        event.set()
        timer = threading.Timer(_SECONDS_TO_SAVE, os._exit, (128 + number,))
        timer.daemon = True
        timer.start()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """When the process that started this one is gone, let the job at hand save, and end: nobody would hand out another."""
    global _flag
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    _flag = threading.Event()  # the shared one may be locked for ever by whoever was killed
    _flag.set()
    with at_work:
        os._exit(1)


@contextlib.contextmanager
def stoppable(also: Callable[[], None] | None = None) -> Iterator[None]:
    """Inside this, the first SIGINT or SIGTERM makes asked_to_stop() true and calls `also`. May be nested."""
    global _handled
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told = [also] if also is not None else []
    _tell.extend(told)
    if _handled:
        try:
            yield
        finally:
            _tell[:] = [f for f in _tell if f not in told]
        return
    former = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: Any) -> None:
        if asked_to_stop():
            signal.signal(number, former[number])
            raise KeyboardInterrupt
        _flag.set()
        for tell in _tell:
            tell()

    for number in former:
        signal.signal(number, ask)
    _handled = True
    try:
        yield
    finally:
        _handled = False
        _tell.clear()
        for number, handler in former.items():
            signal.signal(number, handler)
        _flag.clear()


@contextlib.contextmanager
def children_ignore_sigint() -> Iterator[None]:
    """Processes that are started inside this ignore Ctrl-C from their first moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
