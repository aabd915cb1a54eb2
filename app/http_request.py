"""What every endpoint does first: who asks, and with which headers."""

from starlette.requests import Request

from app.auth.principal import ANYONE, Principal
from app.auth.tokens import TokenTable
from app.parsing.message import TRACE_HEADERS

TRACE_VALUE_BYTES_MAX = 512  # what W3C Trace Context asks implementations to carry of `tracestate`


def principal_of(request: Request, tokens: TokenTable | None) -> Principal:
    """Raises AcklogError UNAUTHENTICATED."""
    return ANYONE if tokens is None else tokens.authenticate(request.headers.get("authorization"))


def trace_headers_of(request: Request) -> dict[str, str] | None:
    """The request's place in a distributed trace (W3C Trace Context), to travel with its messages."""
    found: dict[str, str] | None = None
    for name, value in request.scope["headers"]:
        if name in _TRACE_HEADERS and len(value) <= TRACE_VALUE_BYTES_MAX and value.isascii():
            if found is None:
                found = {}
            found[name.decode("ascii")] = value.decode("ascii")
    return found


_TRACE_HEADERS = frozenset(name.encode("ascii") for name in TRACE_HEADERS)
