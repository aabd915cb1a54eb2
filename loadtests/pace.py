"""A beat that is kept to microseconds, by the kernel's timer (timerfd): an event loop's own timers are exact to one or
two milliseconds, which an open loop would take for the server's latency."""

import asyncio
import ctypes
import os
import time
from collections.abc import Callable

_NANOSECONDS = 1_000_000_000
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Beat(ctypes.Structure):
    _fields_ = (("interval", _Time), ("first", _Time))


class Pace:
    """Calls `on_beat` on the running loop, first at `start` (of `time.perf_counter`), then every `interval` seconds;
    beats that could not be kept come as one. `close` it. Raises OSError. Linux only."""

    def __init__(self, start: float, interval: float, on_beat: Callable[[], None]) -> None:
        self._on_beat = on_beat
        self._loop = asyncio.get_running_loop()
        library = ctypes.CDLL(None, use_errno=True)
        self._timer: int = _checked(library.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))
        beat = _Beat(interval=_time(interval), first=_time(start))
        _checked(library.timerfd_settime(self._timer, _ABSOLUTE, ctypes.byref(beat), None))
        self._loop.add_reader(self._timer, self._rung)

    def close(self) -> None:
        self._loop.remove_reader(self._timer)
        os.close(self._timer)

    def _rung(self) -> None:
        os.read(self._timer, 8)
        self._on_beat()


def _time(seconds: float) -> _Time:
    nanoseconds = round(seconds * _NANOSECONDS)
    return _Time(nanoseconds // _NANOSECONDS, nanoseconds % _NANOSECONDS)


def _checked(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
