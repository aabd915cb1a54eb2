"""The `acklog` command.

`program` runs a command line: it builds the tree of commands (`tree`), each of which is imported only when it is
called (`catalogue` names them, `commands/` holds them), and turns what they raise into messages and exit codes
(`failures`). A command gets a `session`: who asks which server, and where its `output` goes.
"""

TYPE_CHECKING = False  # to mypy it is true
if TYPE_CHECKING:
    from acklog.command.program import main
else:

    def __getattr__(name: str) -> object:
        # A server's command heeds signals before it imports anything, see `early_end`.
        if name == "main":
            from acklog.command.program import main

            return main
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["main"]
