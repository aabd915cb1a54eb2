"""A process whose wall clock is behind: what it stores is old once another one reads it by the right time."""

import os
from pathlib import Path

_SITE_CUSTOMISATION = """
import os
import time

_behind_ns = int(os.environ["SHIFTED_CLOCK_SECONDS"]) * 10**9
_time_ns = time.time_ns
time.time_ns = lambda: _time_ns() - _behind_ns
time.time = lambda: time.time_ns() / 10**9
"""


def shifted_clock(directory: Path, *, behind_s: int) -> dict[str, str]:
    """The environment for a process of Python whose clock is so far behind."""
    (directory / "sitecustomize.py").write_text(_SITE_CUSTOMISATION)
    path = os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "SHIFTED_CLOCK_SECONDS": str(behind_s)}
