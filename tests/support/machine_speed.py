"""How slow the processor is just now, beside the machine on which limits in milliseconds of work were set.

Two tenants of one core may each get half of it without a trace in either's processor time: a limit of so much work
has to be read by what the same work costs here and now. Where a machine is faster, limits stay what they are.
"""

import json
import statistics
import time

REFERENCE_SECONDS = 0.0040
"""What `_work` takes where the limits were set, of the process's own time."""
_TRIES = 7
_DOCUMENT = json.dumps([{"key": str(number), "body": {"a": number, "b": ["x"] * 5}} for number in range(1_000)])


def slowness() -> float:
    """1.0 or more: by how much longer the same work takes."""
    return max(1.0, statistics.median(_work() for _ in range(_TRIES)) / REFERENCE_SECONDS)


def _work() -> float:
    """Seconds of this process's own time for some steps of the interpreter, and many small objects."""
    begin = time.process_time()
    total = 0
    for number in range(100_000):
        total += number
    for _ in range(2):
        json.loads(_DOCUMENT)
    return time.process_time() - begin
