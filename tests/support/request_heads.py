"""Heads of requests, as the protocol shows them to short ways."""

from collections.abc import Mapping

from app.http.protocol.request_head import HttpPeer, RequestHead

CONNECTION = HttpPeer(("10.0.0.1", 4000), ("127.0.0.1", 8080), "http", None)


def head_of(method: bytes, path: bytes, headers: Mapping[bytes, bytes]) -> RequestHead:
    return RequestHead(method, path, b"", list(headers.items()), dict(headers), CONNECTION)
