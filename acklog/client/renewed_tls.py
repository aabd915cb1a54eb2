"""TLS by files that are renewed while a client lives: new connections are made by what the files hold now.

Certificates live for weeks, and producers and consumers for months. A renewal replaces one file after the other, so for
a moment a key and a certificate may not match; whoever renews may also fail. What cannot be used changes nothing: the
earlier files go on to be used, and it is said once.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from acklog.client.tls_context import context_of
from acklog.client.tls_files import ClientTlsFiles
from acklog.errors import InvalidArgument

if TYPE_CHECKING:
    from ssl import SSLContext

LOOK_INTERVAL_MS = 1_000
_logger = logging.getLogger("acklog.client")

_Looks = tuple[tuple[int, ...], ...]


class RenewedTls:
    """`now_ms` is any clock that only goes forward. Raises InvalidArgument for files that cannot be used at first."""

    def __init__(self, files: ClientTlsFiles, *, now_ms: Callable[[], float]) -> None:
        self._files = files
        self._now_ms = now_ms
        self._looked_at_ms = now_ms()
        self._looks = self._look()  # before they are read: what changes between the two is read again
        self._context = context_of(files)

    def context(self) -> "SSLContext":
        """The same object as long as the files are the same. They are looked at once in LOOK_INTERVAL_MS at most."""
        now_ms = self._now_ms()
        if now_ms - self._looked_at_ms >= LOOK_INTERVAL_MS:
            self._looked_at_ms = now_ms
            looks = self._look()
            if looks != self._looks:
                self._looks = looks
                self._take()
        return self._context

    def _take(self) -> None:
        try:
            self._context = context_of(self._files)
        except InvalidArgument as error:
            _logger.warning("files for TLS have changed and cannot be used, the earlier ones still are: %s", error)

    def _look(self) -> _Looks:
        return tuple(_look_of(path) for path in self._files.given().values())


def _look_of(path: str) -> tuple[int, ...]:
    """What tells one state of a file from another; () where it cannot be looked at."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
