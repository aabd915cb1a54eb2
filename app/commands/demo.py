"""`acklog demo`: what is promised, shown on a server that is killed on the way."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, UsageError
from acklog.command.quantities import count_text
from acklog.command.session import Session, session_of

if TYPE_CHECKING:
    from app.demo.display import RunDisplay
    from app.demo.input_file import FlightFile
    from app.demo.options import Options
    from app.demo.outcome import RunOutcome
    from app.demo.scene import Scene

MESSAGES_MIN = 100  # with fewer there is no middle in which to kill
MESSAGES_MAX = 5_000_000
KILLS_MAX = 10
INPUT_VARIABLE = "ACKLOG_FLIGHTS"


def demo(
    context: typer.Context,
    messages: Annotated[
        int | None,
        typer.Option(
            "--messages",
            metavar="COUNT",
            min=MESSAGES_MIN,
            max=MESSAGES_MAX,
            help="How many to send; the input is begun again where it has fewer [all of a file; 20,000].",
        ),
    ] = None,
    kills: Annotated[
        int, typer.Option("--kills", metavar="COUNT", min=0, max=KILLS_MAX, help="How often the server is killed.")
    ] = 2,
    source: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="FILE", help=f"Lines of JSON with body, key and tags [{INPUT_VARIABLE}; a sample]."
        ),
    ] = None,
    keeps_directory: Annotated[
        bool, typer.Option("--keep", help="Keep the server's directory, and say where it is.")
    ] = False,
) -> None:
    """Send flights through a server that is killed, and verify every promise.

    A server of its own is started on a free port, with a temporary directory. Flights are sent, two groups work on
    them, and the server is killed (SIGKILL) on the way and started again. Then the log is read back, and everything
    that was confirmed is compared with it. Exit code 0: every promise held, 1: one did not, 2: the run did not finish.
    """
    from app.demo.scene import SingleServer

    session = session_of(context)
    flights, options = prepared(session, source, messages, kills)
    show_run(
        session,
        flights,
        options,
        lambda directory: SingleServer(directory, kills=kills),
        keeps_directory=keeps_directory,
    )


def show_run(
    session: Session,
    flights: "FlightFile",
    options: "Options",
    make_scene: "Callable[[Path], Scene]",
    *,
    keeps_directory: bool,
) -> None:
    """The run, and what it has shown. Raises CommandError, and typer.Exit where a promise did not hold."""
    from app.demo.report import document, views

    outcome = _outcome(session, flights, options, make_scene, keeps_directory=keeps_directory)
    session.output.show(document(outcome), *views(outcome))
    if not outcome.is_ok:
        raise typer.Exit(ExitCode.FAILED)


def prepared(
    session: Session, named: str | None, messages: int | None, kills: int, *, messages_per_s: int = 0
) -> "tuple[FlightFile, Options]":
    """The input that is `named`, by the variable, or the sample; and the options of the run. Raises UsageError."""
    from app.demo.input_file import SAMPLE, SAMPLE_MESSAGES, FlightFile, InputError
    from app.demo.options import Options

    source = named or session.surroundings.environment.get(INPUT_VARIABLE)
    try:
        flights = FlightFile(SAMPLE) if source is None else FlightFile.at(source)
        found = flights.count()
    except InputError as error:
        raise UsageError(str(error), field="--input", hint="Without --input a sample is sent.") from error
    count = messages or (SAMPLE_MESSAGES if source is None else found)
    if count < MESSAGES_MIN:
        what = f"{flights.name} has {count_text(count, 'message')}, and {MESSAGES_MIN} are the least"
        raise UsageError(what, field="--input", hint=f"Send it several times over: --messages {MESSAGES_MIN}.")
    session.output.note(f"{count:,} flights from {flights.name}, {count_text(kills, 'kill')}")
    return flights, Options(messages=count, kills=kills, messages_per_s=messages_per_s)


def _outcome(
    session: Session,
    flights: "FlightFile",
    options: "Options",
    make_scene: "Callable[[Path], Scene]",
    *,
    keeps_directory: bool,
) -> "RunOutcome":
    from acklog.errors import AcklogError
    from app.demo.input_file import InputError
    from app.demo.run import DeadlineError, run
    from app.demo.work import StalledError
    from app.local_cluster.server_process import ServerFailedError

    with _directory(session, is_kept=keeps_directory) as directory, _display(session) as display:
        try:
            return asyncio.run(_until_terminated(run(options, flights, make_scene(directory), display)))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        except InputError as error:
            raise UsageError(str(error), field="--input", hint="Without --input a sample is sent.") from error
        except ServerFailedError as error:
            if not session.output.is_json:
                session.output.complain(error.log_tail)
            raise _unfinished(error.what) from error
        except (DeadlineError, StalledError, AcklogError) as error:
            raise _unfinished(str(error)) from error


def _unfinished(why: str) -> CommandError:
    hint = "With --keep the server's directory stays, with its log."
    return CommandError(f"the run did not finish: {why}", exit_code=ExitCode.USAGE, hint=hint)


async def _until_terminated(running: "Coroutine[None, None, RunOutcome]") -> "RunOutcome":
    """SIGTERM cancels the run, so that its server does not outlive it."""
    task = asyncio.ensure_future(running)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


@contextmanager
def _directory(session: Session, *, is_kept: bool) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="acklog-demo-"))
    try:
        yield directory
    finally:
        if is_kept:
            session.output.note(f"Kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _display(session: Session) -> "Iterator[RunDisplay]":
    """Bars where standard error is a terminal, else lines."""
    from app.demo.display import RunLineDisplay

    around = session.surroundings
    style = session.output.style
    if style.is_quiet or not around.stderr.isatty() or around.environment.get("TERM") == "dumb":
        yield RunLineDisplay(session.output.note)
        return
    from acklog.command.rich_view import console_for
    from app.demo.live_display import live_display

    with live_display(console_for(around.stderr, is_coloured=style.is_coloured, width=style.width)) as display:
        yield display
