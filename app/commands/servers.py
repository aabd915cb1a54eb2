"""The commands that are processes for long, by name: each with no more of the others than it needs."""

from collections.abc import Sequence

from app.processes.garbage import collect_rarely
from app.processes.lean_logging import load_structlog


def run_server(name: str, arguments: Sequence[str]) -> None:
    """Runs until somebody stops it. Raises SystemExit where it cannot go on."""
    collect_rarely()  # what is loaded now stays
    load_structlog()
    if name == "serve":
        from app.commands.serve import serve

        serve(arguments)
    elif name == "node":
        from app.commands.node import node

        node(arguments)
    else:
        from app.commands.gateway import gateway

        gateway(arguments)
