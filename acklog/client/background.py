"""An event loop in a thread of its own: how the synchronous client runs the asynchronous one.

The thread starts with the first call. It does not survive a fork: in the child everything begins anew, and
`generation` tells whoever keeps something of the loop that it is gone.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet, finalize

from acklog.errors import ClientClosed, InvalidArgument

_Result = TypeVar("_Result")
STOP_TIMEOUT_S = 10.0


class Background:
    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.generation = 0
        self._is_closed = False
        _all.add(self)

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    def run(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Run the coroutine that `work` makes, and wait for its result. Raises ClientClosed.

        What interrupts the wait, such as Ctrl-C, cancels the coroutine.
        """
        loop = self._running_loop()
        if threading.current_thread() is self._thread:
            raise InvalidArgument("a callback must not wait for the client that calls it")
        future = asyncio.run_coroutine_threadsafe(work(), loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call_soon(self, function: Callable[..., object], *arguments: object) -> None:
        """Have the loop call `function`. Nothing happens when the loop has ended."""
        try:
            self._running_loop().call_soon_threadsafe(function, *arguments)
        except (RuntimeError, ClientClosed):
            return

    def close(self) -> None:
        """End the thread. What still runs on it is cancelled."""
        with self._lock:
            self._is_closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            if thread is not threading.current_thread():
                thread.join(STOP_TIMEOUT_S)

    def forget(self) -> None:
        """In the child after a fork: the thread is not there, and the lock may be held for ever."""
        self._lock = threading.Lock()
        self._loop = self._thread = None
        self.generation += 1

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        return self._start_thread() if loop is None else loop

    def _start_thread(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._is_closed:
                raise ClientClosed("the client is closed")
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(loop,), name=self._name, daemon=True)
                self._thread.start()
                self._loop = loop
                # Dropped without being closed, it must not leave a thread behind. (At the end of the program the
                # thread is a daemon, and still needed.)
                finalize(self, _stop, loop).atexit = False
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # it is closed already
        loop.call_soon_threadsafe(loop.stop)


_all: WeakSet[Background] = WeakSet()


def _forget_all() -> None:
    for background in list(_all):
        background.forget()


os.register_at_fork(after_in_child=_forget_all)
