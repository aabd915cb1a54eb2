"""What the command's exit code says. Scripts go by these; docs/command.md repeats the table."""

from enum import IntEnum


class ExitCode(IntEnum):
    """`INTERRUPTED` and `READER_GONE` are what a shell reports for SIGINT and SIGPIPE."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    SERVER_AWAY = 3
    NOT_ALLOWED = 4
    NOT_FOUND = 5
    INTERRUPTED = 130
    READER_GONE = 141
