"""One port, and a listening socket on it for every gateway: the kernel deals connections out among them.

SO_REUSEPORT alone would let any other process of the same user listen there, too, and get a share of the connections.
So the port is first listened on without it, which fails where anybody listens; what is bound without it later, by
another server, fails for the same reason.
"""

import socket

from app.configuration.setting_error import SettingsError


class SharedPort:
    """Of a socket that is bound, and that nobody shares."""

    def __init__(self, bound: socket.socket) -> None:
        self._held = bound
        self._address = bound.getsockname()
        self._spare: list[socket.socket] = []

    def share(self, count: int, *, backlog: int) -> None:
        """Listen with so many sockets: connections wait there for those who will serve them. Raises SettingsError
        where another process has taken the port since it was bound."""
        alone = self._held
        try:
            alone.listen(1)
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._spare = [self._listening(backlog) for _ in range(count)]
            self._held = self._bound()  # the number stays, if ever no gateway is left for a moment
        except OSError as error:
            self.close()
            host, port = self._address[:2]
            detail = f"{error.strerror or error}. Another process has taken it since this one began to start."
            raise SettingsError(f"Cannot listen on {host}:{port}: {detail}") from None
        finally:
            alone.close()

    def take(self, *, backlog: int) -> socket.socket:
        """One for a gateway that is about to start. Raises OSError."""
        return self._spare.pop() if self._spare else self._listening(backlog)

    def close(self) -> None:
        for each in (self._held, *self._spare):
            each.close()
        self._spare = []

    def _listening(self, backlog: int) -> socket.socket:
        listening = self._bound()
        try:
            listening.listen(backlog)
        except OSError:
            listening.close()
            raise
        return listening

    def _bound(self) -> socket.socket:
        made = socket.socket(self._held.family)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            made.bind(self._address)
        except OSError:
            made.close()
            raise
        return made
