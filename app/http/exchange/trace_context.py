"""A request's place in a distributed trace, as W3C Trace Context has it."""

from collections.abc import Iterable

from acklog.wire.tracing import TRACEPARENT, TRACESTATE, is_traceparent, is_tracestate

TRACEPARENT_LENGTH_MAX = 512
"""That of today has 55 characters; those to come may be longer."""
NAMES = frozenset({TRACEPARENT.encode(), TRACESTATE.encode()})


def trace_context_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """`traceparent`, and `tracestate` where there is one. A traceparent that is none counts as none, and so do several:
    which of them is right nobody knows. A tracestate says nothing without one, and one that is wrong is left out."""
    parents: list[str] = []
    states: list[str] = []
    for name, value in headers:
        if name in NAMES:
            text = value.decode("latin-1").strip(" \t")  # blanks around a value are HTTP's
            (parents if name == b"traceparent" else states).append(text)
    if len(parents) != 1 or len(parents[0]) > TRACEPARENT_LENGTH_MAX or not _is_usable(parents[0]):
        return None
    state = ",".join(states)
    return {TRACEPARENT: parents[0], TRACESTATE: state} if is_tracestate(state) else {TRACEPARENT: parents[0]}


def _is_usable(traceparent: str) -> bool:
    return traceparent.isascii() and traceparent.isprintable() and is_traceparent(traceparent)
