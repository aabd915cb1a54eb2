"""What a server and its client used while something was measured."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from loadtests.process_usage import usage_of


@dataclass(slots=True)
class Usage:
    """Of all the blocks in which it was measured."""

    wall_s: float = 0.0
    server_cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    server_resident_bytes: int = 0
    server_peak_bytes: int = 0


@contextmanager
def measured(server_pid: int, usage: Usage) -> Iterator[None]:
    """Add to `usage` what the block takes; not, if it fails."""
    started, client_cpu, server = time.perf_counter(), time.process_time(), usage_of(server_pid)
    yield
    after = usage_of(server_pid)
    usage.wall_s += time.perf_counter() - started
    usage.client_cpu_s += time.process_time() - client_cpu
    usage.server_cpu_s += after.cpu_s - server.cpu_s
    usage.server_resident_bytes = after.resident_bytes
    usage.server_peak_bytes = after.peak_bytes
