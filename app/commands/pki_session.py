"""What the commands of `acklog pki` begin and end with: the directory, warnings about it, and failures told."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, UsageError

if TYPE_CHECKING:
    from acklog.command.session import Session
    from app.commands.pki_directory import PkiDirectory

_NO_ROOM = "Make room on its disk, and do it again."
_NOT_ALLOWED = "Run this as the user whose directory it is."
_HINTS = {
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EROFS: "Its disk is mounted for reading only: work where it may be written.",
}
WRITTEN_SHOWN_MAX = 20
DIRECTORY_DEFAULT = "pki"
DIRECTORY = typer.Option("--dir", metavar="DIR", help="Where the authority is.")


@contextmanager
def telling_failures() -> Iterator[None]:
    """What is wrong with certificates, keys and what they are to say ends the command, with nothing changed by it."""
    from app.pki.pki_error import PkiError

    try:
        yield
    except PkiError as error:
        raise UsageError(str(error), field=error.field, hint=error.hint) from error
    except OSError as error:
        raise CommandError(_said(error), exit_code=ExitCode.USAGE, hint=_hint(error)) from error


@contextmanager
def directory_of(session: "Session", path: str) -> "Iterator[PkiDirectory]":
    """The directory, with other commands kept out. Raises CommandError."""
    from app.commands.pki_directory import PkiDirectory

    with telling_failures(), PkiDirectory.opened(Path(path)) as directory:
        for warning in directory.open_to_others():
            session.output.note(f"Warning: {warning}")
        with _telling_what_was_done(directory):
            yield directory


@contextmanager
def _telling_what_was_done(directory: "PkiDirectory") -> Iterator[None]:
    """A disk may fail when a part is written, for good: that is not the exit code of what has changed nothing."""
    try:
        yield
    except OSError as error:
        if not directory.written:
            raise
        hint = f"{_hint(error)} Done before that: {_names(directory.written)}.".lstrip()
        raise CommandError(_said(error), exit_code=ExitCode.FAILED, hint=hint) from error


def _said(error: OSError) -> str:
    return f"{error.filename or 'the directory'}: {error.strerror or error}"


def _hint(error: OSError) -> str:
    return _HINTS.get(error.errno or 0, "")


def _names(written: list[str]) -> str:
    shown, more = written[:WRITTEN_SHOWN_MAX], len(written) - WRITTEN_SHOWN_MAX
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def random_bits() -> int:
    """128 bits that nobody guesses, for a serial number."""
    from cluster.ports.runtime import SystemEntropy

    entropy = SystemEntropy()
    return entropy.bits64() << 64 | entropy.bits64()
