"""The port of tracing. Where nothing is traced there is no tracer, and nothing of this is called.

A trace is named by W3C's `traceparent`: the span that what is done now belongs to. Behind a blank its `tracestate`
follows, where there is one, which is passed on. Only traces that are recorded are handed around; who has none for a
tracer goes on as if there were none.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum, auto
from typing import Protocol

Attributes = Mapping[str, str | int]


def trace_text(traceparent: str, tracestate: str) -> str:
    return f"{traceparent} {tracestate}" if tracestate else traceparent


class SpanKind(Enum):
    SERVER = auto()
    INTERNAL = auto()
    PRODUCER = auto()


class Span(Protocol):
    """Something that is being done, and recorded."""

    @property
    def traceparent(self) -> str: ...

    @property
    def trace(self) -> str:
        """For who does a part of it: its traceparent, with the tracestate."""
        ...

    def rename(self, name: str) -> None: ...

    def note(self, attributes: Attributes) -> None: ...

    def event(self, name: str, attributes: Attributes) -> None: ...

    def link(self, traces: Sequence[str]) -> None: ...

    def fail(self, kind: str) -> None:
        """What it was about could not be done; `kind` is a problem's code, or a status."""
        ...


class Tracer(Protocol):
    def is_drawn(self) -> bool:
        """Whether a request that is of no trace begins one: a share of them does."""
        ...

    def span(self, name: str, kind: SpanKind, traces: Sequence[str] = ()) -> AbstractContextManager[Span]:
        """A span that is current within the block, which fails where that raises. It is a child of the first of
        `traces` and linked to the others; without any it begins a trace."""
        ...

    def about(self, traces: Sequence[str]) -> AbstractContextManager[None]:
        """What is begun within the block is of these traces, and of none that was current before."""
        ...

    def current(self) -> Span | None:
        """The span that is current, if there is one that is recorded."""
        ...

    def carried(self) -> list[str]:
        """The traces that what is done now is of, for who does a part of it elsewhere."""
        ...
