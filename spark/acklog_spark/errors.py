"""Failures of Spark's side as the command tells them."""

from collections.abc import Iterator
from contextlib import contextmanager

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError

INSTALL_HINT = 'pip install "acklog-spark[pyspark]"'
_EXIT_CODES = {
    "no server can be reached": ExitCode.SERVER_AWAY,
    "(TOPIC_NOT_FOUND)": ExitCode.NOT_FOUND,
    "(UNAUTHORIZED)": ExitCode.NOT_ALLOWED,
    "(FORBIDDEN)": ExitCode.NOT_ALLOWED,
}


@contextmanager
def told() -> Iterator[None]:
    """Around everything that imports or calls Spark: what goes wrong becomes a CommandError of one line."""
    try:
        from pyspark_acklog.failures import SparkSourceError
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    except SparkSourceError as error:
        exit_code = next((code for mark, code in _EXIT_CODES.items() if mark in error.line), ExitCode.FAILED)
        raise CommandError(error.line, exit_code=exit_code) from error


def _missing(error: ModuleNotFoundError) -> Exception:
    name = (error.name or "").partition(".")[0]
    if name not in {"pyspark", "py4j", "pandas"}:
        return error
    return CommandError(f"{name} is not installed, which this command needs", hint=INSTALL_HINT)
