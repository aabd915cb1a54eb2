"""Streams: answers that go on for as long as somebody listens."""

from collections.abc import Awaitable, Callable

Say = Callable[[bytes], Awaitable[None]]
"""Returns when what it was given is on its way, as fast as the listener takes it."""

Talk = Callable[[Say], Awaitable[str]]
"""Says all that is to be said, until the stream ends: returns why."""
