"""Where the SDK gets time, chance and the environment from."""

import os
import random
import secrets
import time


def monotonic_ms() -> float:
    """The clock of asyncio's own event loops, for other threads than the loop's."""
    return time.monotonic() * 1000


def fraction() -> float:
    """A random number, 0 to 1."""
    return random.random()


def unique_name() -> str:
    """22 characters that nobody else has drawn (128 bits)."""
    return secrets.token_urlsafe(16)


def variable(name: str) -> str:
    """What the environment has under that name; "" for nothing."""
    return os.environ.get(name, "")


def random_bytes(count: int) -> bytes:
    """So many bytes that nobody can guess."""
    return secrets.token_bytes(count)


def process_id() -> int:
    """Another one in a process that was forked off."""
    return os.getpid()
