"""How fast the disk makes an append durable."""

import os
from pathlib import Path
from time import perf_counter

APPEND_BYTES = 4096


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
