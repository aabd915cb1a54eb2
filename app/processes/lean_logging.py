"""structlog as a server needs it.

It loads rich where that is installed, and it is wherever the command is: to show stack traces in colors, which is for
people at a terminal. A server's log is JSON elsewhere, and rich would be a tenth of all that is loaded at its start.
"""

import sys

_COLORS = "rich"


def load_structlog() -> None:
    """To be called before anything else loads it."""
    if sys.stderr.isatty() or _COLORS in sys.modules:
        return
    sys.modules[_COLORS] = None  # type: ignore[assignment]  # an import of it fails, as if it were not installed
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules[_COLORS]
