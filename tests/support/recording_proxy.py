"""Somebody who listens on a link."""

from tests.support.tcp_proxy import TcpProxy


class RecordingProxy(TcpProxy):
    """`seen` is all that went through, in both directions."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.seen = bytearray()

    def passes(self, data: bytes) -> None:
        self.seen += data
