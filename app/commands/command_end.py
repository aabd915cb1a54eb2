"""How a server's command ends when it cannot go on: one line that says why, and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NoReturn

FAILED = 1
USAGE = 2
CLUSTER_EXTRA = "acklog-server[cluster]"
PRIVATE_UMASK = 0o027  # what a queue holds is nobody else's business


def fail(text: str, *, exit_code: int = FAILED) -> NoReturn:
    sys.stderr.write(f"acklog: {text}\n")
    raise SystemExit(exit_code)


@contextmanager
def ending_well_at_signals() -> Iterator[None]:
    """Around a whole process: who ends it before it serves gets a line and the exit code 0, as at an orderly stop."""
    from app.processes.early_end import EndedEarlyError, ending_at_signals

    try:
        with ending_at_signals():
            yield
    except EndedEarlyError as error:
        sys.stderr.write(f"acklog: {error}.\n")


def wants_help(arguments: list[str]) -> bool:
    return "--help" in arguments or "-h" in arguments


def needs_of_a_cluster() -> list[str]:
    """The modules that talking to etcd needs and that are not installed."""
    return [name for name in ("grpc", "google.protobuf") if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of what it is in
        return False


@contextmanager
def needs_cluster_extra() -> Iterator[None]:
    """Around the imports of what talks to etcd."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"grpc", "google"}:
            raise
        fail(f'{error.name} is not installed, which a cluster needs: pip install "{CLUSTER_EXTRA}"')
