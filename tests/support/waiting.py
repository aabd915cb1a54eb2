"""Waiting for a condition, with a deadline: how tests with real processes synchronise. Never a fixed sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

_Result = TypeVar("_Result")

POLL_SECONDS = 0.01


def wait_until(
    condition: Callable[[], _Result | None], *, seconds: float, what: str, poll_s: float = POLL_SECONDS
) -> _Result:
    """The first true result of `condition`, asked again and again; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(poll_s)


async def poll_until(condition: Callable[[], Awaitable[_Result | None]], *, seconds: float, what: str) -> _Result:
    """As `wait_until`, for a condition that awaits."""
    deadline = time.monotonic() + seconds
    while True:
        result = await condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        await asyncio.sleep(POLL_SECONDS)
