"""How fast the disk makes appends durable, and how fast it takes a stream of bytes."""

import os
from pathlib import Path
from time import perf_counter

APPEND_BYTES = 4096
WRITE_BYTES = 1024 * 1024


def measure_appends(directory: Path, count: int) -> list[float]:
    """Seconds of each of `count` appends of 4 KiB with their fdatasync, ascending."""
    path = directory / "appends"
    data = os.urandom(APPEND_BYTES)
    durations = []
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        for _ in range(count):
            started = perf_counter()
            os.write(handle, data)
            os.fdatasync(handle)
            durations.append(perf_counter() - started)
    finally:
        os.close(handle)
        path.unlink()
    return sorted(durations)


def measure_sequential(directory: Path, size_bytes: int) -> float:
    """Bytes per second of a new file written in steps of 1 MiB, with one fdatasync at the end in the time."""
    path = directory / "sequential"
    data = memoryview(os.urandom(WRITE_BYTES))
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        started = perf_counter()
        left = size_bytes
        while left > 0:
            left -= os.write(handle, data[: min(left, WRITE_BYTES)])
        os.fdatasync(handle)
        return size_bytes / (perf_counter() - started)
    finally:
        os.close(handle)
        path.unlink()
