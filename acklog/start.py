"""Where the program `acklog` begins. What the command is made of is an extra that a backend does without."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command; without the extra, say which it is."""
    try:
        from acklog.command.program import main as run_command
    except ModuleNotFoundError as error:
        if error.name not in {"rich", "typer"}:
            raise
        sys.exit('acklog: the command needs an extra, which is not installed: pip install "acklog[cli]"')
    run_command()
