"""Whoever supervises the process is told that it serves, and that it stops, in the words of systemd's sd_notify(3)."""

import socket
from collections.abc import Mapping

import structlog

VARIABLE = "NOTIFY_SOCKET"
_ABSTRACT = "@"

_log = structlog.get_logger(__name__)


class ServiceManager:
    """Where nobody gave an address (`NOTIFY_SOCKET`), nobody is told."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get(VARIABLE, "")

    def ready(self) -> None:
        self._tell("READY=1")

    def stopping(self) -> None:
        self._tell("STOPPING=1")

    def _tell(self, text: str) -> None:
        """A datagram on this machine: it is taken at once or not at all, and then the server serves all the same."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith(_ABSTRACT) else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.setblocking(False)
                channel.sendto(text.encode(), address)
        except OSError as error:
            _log.warning("service_manager_not_told", text=text, reason=str(error))
