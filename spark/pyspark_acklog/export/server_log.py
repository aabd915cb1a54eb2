"""The server's side of a run: how far its partitions go, and why offsets are missing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acklog import Client
from acklog.errors import AcklogError, CannotConnect, TopicNotFound
from pyspark_acklog import fetch
from pyspark_acklog.export.failures import NoTopicError, UnexplainedGapError
from pyspark_acklog.export.ports import LogBounds, TopicBounds
from pyspark_acklog.export.spans import Gap, Span, joined
from pyspark_acklog.failures import of_server
from pyspark_acklog.options import FetchOptions
from pyspark_acklog.plan import described_topic
from pyspark_acklog.ranges import OffsetRange

GONE = "gone"
CLOSED = frozenset({"decommissioned", "empty"})


class ServerLog:
    """Asks any of the gateways. Every method raises SparkSourceError."""

    def __init__(self, client: Client, options: FetchOptions) -> None:
        self._client = client
        self._options = options

    def reach(self, topic: str) -> None:
        """Raises ServerAwayError where no server is there; whatever else is wrong is told by `bounds`."""
        try:
            self._client.topics.get(topic)
        except CannotConnect as error:
            raise of_server(error, self._options.connection.urls, f"planning the export of {topic}") from None
        except AcklogError:
            return

    def bounds(self, topic: str) -> TopicBounds:
        """Once the leaders of all partitions have answered."""
        connection = self._options.connection
        try:
            found = described_topic(self._client, topic, deadline_s=connection.timeout_s)
        except TopicNotFound as error:
            raise NoTopicError(of_server(error, connection.urls, f"planning the export of {topic}").line) from None
        except AcklogError as error:
            raise of_server(error, connection.urls, f"planning the export of {topic}") from None
        return TopicBounds(
            found.id,
            tuple(
                LogBounds(state.partition, state.log_start, state.high_watermark)
                for state in found.partition_states
                if state.log_start is not None and state.high_watermark is not None
            ),
            closed=tuple(state.partition for state in found.partition_states if state.life in CLOSED),
            gone=tuple(state.partition for state in found.partition_states if state.life == GONE),
        )

    def explain(self, topic: str, missing: Sequence[Span]) -> list[Gap]:
        """Every missing span is asked for again: what the server leaves out is explained, what it has is not."""
        return [gap for span in missing for gap in self._explained(topic, span)]

    def _explained(self, topic: str, span: Span) -> Iterator[Gap]:
        gone: list[fetch.Gap] = []
        lenient = replace(self._options, fail_on_data_loss=False)
        range_ = OffsetRange(topic, span.topic_id, span.partition, span.start, span.end)
        for page in fetch.pages(range_, lenient, on_gap=gone.append):
            if any(batch.num_rows for batch in page.batches):
                raise UnexplainedGapError(
                    f"{topic} {span} is on the server and not in the files that were written: nothing was committed"
                )
        for reason, of_fetch in (("retention", "retention"), ("compaction", "missing")):
            spans = joined(
                Span(span.topic_id, span.partition, gap.start, gap.end) for gap in gone if gap.reason == of_fetch
            )
            for each in spans:
                yield Gap(each, "retention" if reason == "retention" else "compaction")
