"""`python -m tests.support.again_alone LASTFAILED`: tests in real time that failed beside others run again, alone.

On a shared machine a process may get no processor for a second, and a test that waits for it in real time says so. One
more try with the machine to itself tells that from a defect. It is for `tests/integration` and `tests/e2e` only: where
anything else failed, which does not depend on the machine, nothing is tried again.
"""

import json
import subprocess
import sys
from pathlib import Path

REAL_TIME = ("tests/integration/", "tests/e2e/")
TRIED_AGAIN_MAX = 5
"""More than these is no accident."""


def worth_another_try(failed: list[str]) -> bool:
    """Whether all of the failed tests, by their ids, are in real time, and few."""
    return 0 < len(failed) <= TRIED_AGAIN_MAX and all(each.startswith(REAL_TIME) for each in failed)


def main() -> int:
    record = Path(sys.argv[1])
    failed = sorted(json.loads(record.read_text())) if record.exists() else []
    if not worth_another_try(failed):
        return 1
    print(f"once more, alone: {', '.join(failed)}", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
