"""Whose certificate has ended is let in no more, whichever way the handshake went.

A handshake that takes up an earlier session does not look at the certificate again: OpenSSL did so when the session
began, and a session may be taken up for hours. TLS 1.2 has sessions without tickets, too, which Python cannot turn off.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Any, cast

CERTIFICATE_ENDED = "certificate has expired"
"""As OpenSSL puts it, where it is the one that looks."""


class CertificateGate(asyncio.Protocol):
    """Stands before the protocol of a connection until the handshake is done: then it hands the connection over, and is
    not asked any more, or hangs up and tells `on_ended`. `now_ms` is the time since 1970."""

    def __init__(
        self,
        make_protocol: Callable[[], asyncio.Protocol],
        *,
        now_ms: Callable[[], int],
        on_ended: Callable[[], None],
    ) -> None:
        self._make_protocol = make_protocol
        self._now_ms = now_ms
        self._on_ended = on_ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports inherit from nothing of asyncio.
        open_transport = cast(asyncio.Transport, transport)
        if has_ended(open_transport.get_extra_info("peercert"), now_ms=self._now_ms()):
            open_transport.abort()
            self._on_ended()
            return
        protocol = self._make_protocol()
        open_transport.set_protocol(protocol)
        protocol.connection_made(open_transport)


def has_ended(certificate: Mapping[str, Any] | None, *, now_ms: int) -> bool:
    """`certificate` is what `ssl.SSLObject.getpeercert` says: nothing of one that was not asked for."""
    if not certificate:
        return False
    return now_ms >= ssl.cert_time_to_seconds(certificate["notAfter"]) * 1000
