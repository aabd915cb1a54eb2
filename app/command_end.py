"""How a server's command ends when it cannot go on: one line that says why, and an exit code."""

import sys
from typing import NoReturn

FAILED = 1
USAGE = 2
PRIVATE_UMASK = 0o027  # what a queue holds is nobody else's business


def fail(text: str, *, exit_code: int = FAILED) -> NoReturn:
    sys.stderr.write(f"acklog: {text}\n")
    raise SystemExit(exit_code)


def wants_help(arguments: list[str]) -> bool:
    return "--help" in arguments or "-h" in arguments
