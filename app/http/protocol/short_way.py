"""Calls of other protocols than the API's that need no scope and no task: a port, as front doors are.

Whatever a short way does not take is left to the front door, as if nobody had looked at it.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from app.auth.client_certificate import ClientCertificate
from app.http.exchange.bytes_in_flight import Hold
from app.http.protocol.single_sends import Answer, Headers

Begin = Callable[[bytes, Hold, Answer], bool]
"""Given the whole body: the answer comes later, and the hold is given back then. False where it is for the application
to answer: nothing has happened."""


class ShortRequest(NamedTuple):
    """`hold` is what the body is counted in as it comes."""

    hold: Hold
    begin: Begin


class ShortWay(Protocol):
    def takes(
        self, headers: Headers, by_name: dict[bytes, bytes], certificate: ClientCertificate | None
    ) -> ShortRequest | None:
        """By the head of a POST to the URL that this is for. `headers` are all, in their order, with names in lower
        case; `by_name` has the last of each name."""
        ...
