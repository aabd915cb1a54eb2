"""The `acklog` command.

`program` runs a command line: it builds the tree of commands (`tree`), each of which is imported only when it is
called (`catalogue` names them, `commands/` holds them), and turns what they raise into messages and exit codes
(`failures`). A command gets a `session`: who asks which server, and where its `output` goes.
"""

from acklog.command.program import main

__all__ = ["main"]
