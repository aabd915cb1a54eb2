"""Where the program `acklog` begins. What the command is made of is an extra that a backend does without."""

import sys

from acklog.command import early_end

TYPE_CHECKING = False  # `typing` itself would be a tenth of all that is imported before signals are heeded
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command; without the extra, say which it is."""
    if early_end.is_a_server(sys.argv[1:]):
        early_end.end_at_signals()
        from acklog.command.server_program import run_server

        run_server(sys.argv[1:])
    try:
        from acklog.command.program import main as run_command
    except ModuleNotFoundError as error:
        if error.name not in {"rich", "typer"}:
            raise
        sys.exit('acklog: the command needs an extra, which is not installed: pip install "acklog[cli]"')
    run_command()
