"""A request's place in a distributed trace: `traceparent` and `tracestate`."""

from acklog.wire.tracing import TRACEPARENT, TRACESTATE, is_traceparent
from app.http.exchange.trace_context import TRACEPARENT_LENGTH_MAX, trace_context_of
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of

_PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_SEEDS = (
    _PARENT,
    joined(_PARENT, b"congo=t61rcWkgMzE,rojo@vendor=00f067aa0ba902b7"),
    joined(_PARENT.replace(b"00-", b"cc-", 1) + b"-more", b" a=1 , b=2"),
    b"00-00000000000000000000000000000000-b7ad6b7169203331-01",
)


def _read(data: bytes) -> None:
    parent, *states = parts_of(data, 3)
    headers = [(b"traceparent", parent), *((b"tracestate", state) for state in states if state)]
    found = trace_context_of(headers)
    if found is None:
        return
    assert is_traceparent(found[TRACEPARENT])
    assert len(found[TRACEPARENT]) <= TRACEPARENT_LENGTH_MAX
    # What is found goes on with the message: the next one who reads it must find the same.
    passed_on = [(name.encode(), value.encode()) for name, value in found.items()]
    assert trace_context_of(passed_on) == found
    assert set(found) <= {TRACEPARENT, TRACESTATE}


TARGET = FuzzTarget(_read, (), lambda: _SEEDS)
