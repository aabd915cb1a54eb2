"""Answers as bytes. Every JSON answer ends in a newline, so that a terminal's prompt stands on a line of its own."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

JSON = "application/json"
NDJSON = "application/x-ndjson"

_NOT_STORED = (b"cache-control", b"no-store")
"""A receive is a GET that changes something, and nothing else here stays as it is: no cache on the way may answer."""

_encode = msgspec.json.Encoder().encode


class BytesResponse(Response):
    """A whole answer in memory, with no character set appended to its content type."""

    charset = ""

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        raw = [(b"content-length", b"%d" % len(self.body)), _NOT_STORED]
        if self.media_type is not None:
            raw.insert(
                1, (b"content-type", self.media_type.encode("latin-1"))
            )  # where `app.http.exchange.problems` expects it
        if headers:
            raw.extend((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items())
        self.raw_headers = raw


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> BytesResponse:
    return BytesResponse(_encode(value) + b"\n", status, headers, JSON)


def json_text_response(text: bytes, status: int = 200) -> BytesResponse:
    """`text` is JSON already, its newline included."""
    return BytesResponse(text, status, None, JSON)
