"""Ports for servers that are killed and started again: nobody else may be given them in between."""

import contextlib
import random
import socket

HOST = "127.0.0.1"
_PORTS = range(20_000, 30_000)  # below those that systems give to outgoing connections, and to whoever asks for any


def lasting_ports(count: int) -> list[int]:
    """Different ports that nothing listens on at this moment."""
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_PORTS)
        if port in found:
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            found.append(port)
    return found
