"""Dead letters whose deaths are recorded, each in the trace that its message is of."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from acklog.wire.identifiers import MessageId
from acklog.wire.tracing import (
    ATTEMPT,
    DESTINATION,
    GROUP,
    MESSAGE_ID,
    OPERATION_NAME,
    OPERATION_TYPE,
    PARTITION,
    SYSTEM,
    SYSTEM_NAME,
    TRACES_MAX,
)
from cluster.model.values import Group, Topic
from cluster.ports.tracing import Span, SpanKind, Tracer
from storage.node.groups.dead_letter_sink import DeadLetter, DeadLetterSink
from storage.node.groups.dead_letter_topics import dead_letter_topic_name
from storage.rpc.traces import trace_of

OPERATION = "dead-letter"


class TracedDeadLetters:
    """DeadLetterSink around another one. Of letters that are appended together TRACES_MAX have a span."""

    def __init__(self, sink: DeadLetterSink, tracer: Tracer) -> None:
        self._sink = sink
        self._tracer = tracer

    async def append(self, source: Topic, group: Group, letters: list[DeadLetter]) -> None:
        told: list[str] = []
        with ExitStack() as spans:
            for letter in letters:
                trace = trace_of(letter.record)
                if trace is not None and len(told) < TRACES_MAX:
                    told.append(spans.enter_context(self._death(source, group, letter, trace)).trace)
            with self._tracer.about(told):
                await self._sink.append(source, group, letters)

    @contextmanager
    def _death(self, source: Topic, group: Group, letter: DeadLetter, trace: str) -> Iterator[Span]:
        """In the trace of its message, and linked to it, as whoever works on the copy is."""
        with self._tracer.span(f"{OPERATION} {source.name}", SpanKind.PRODUCER, [trace, trace]) as span:
            span.note(
                {
                    SYSTEM: SYSTEM_NAME,
                    OPERATION_NAME: OPERATION,
                    OPERATION_TYPE: "send",
                    DESTINATION: dead_letter_topic_name(source, group),
                    "acklog.source": source.name,
                    PARTITION: str(letter.partition),
                    GROUP: group.name,
                    MESSAGE_ID: str(MessageId(source.id, letter.partition, letter.leader_epoch, letter.offset)),
                    ATTEMPT: letter.attempts,
                }
            )
            yield span
