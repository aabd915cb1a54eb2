"""A server's command line, without all that other commands are made of: it would be a tenth of the server's start."""

import sys
from collections.abc import Sequence
from importlib import import_module

from acklog.command.exit_codes import ExitCode
from acklog.command.process_end import end, make_tolerant

SERVER_PACKAGE = "acklog_server"


def run_server(arguments: Sequence[str]) -> None:
    """Run it, and end the process. Returns where no server is installed: the command says what to install."""
    try:
        server = import_module(f"{SERVER_PACKAGE}.command")
    except ModuleNotFoundError as error:
        if error.name != SERVER_PACKAGE:
            raise
        return
    make_tolerant()
    try:
        server.run_server(arguments[0], arguments[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        end(ExitCode.READER_GONE)
    except KeyboardInterrupt:
        end(ExitCode.INTERRUPTED)
    except Exception as error:
        end(_report(error, arguments))
    end(ExitCode.DONE)


def _report(error: Exception, arguments: Sequence[str]) -> int:
    """What other commands make of a mistake, which has to be loaded for it."""
    from acklog.command.program import report
    from acklog.command.session import Session, Surroundings

    return report(error, Session(Surroundings.of_process()), is_json="--json" in arguments)
