"""What a doctor says of topics that keep the last message of each key: passes that failed, and topics far behind."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, names_text, ok, skipped, warn
from acklog.command.quantities import count_text, size_text
from acklog.command.server_metrics import ServerMetrics

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import Topic
    from acklog.tables import CompactionState

BEHIND_BYTES = 1 << 30
BEHIND_RATIO = 0.75
"""A partition's turn comes, by default, when half of it is new."""
_NAME = "compaction"


def compaction_checks(client: "Client", topics: "Sequence[Topic]", metrics: ServerMetrics | None) -> Iterator[Check]:
    """`metrics` None: they cannot be read. Raises AcklogError."""
    from acklog.errors import Forbidden, TopicNotCompacted, TopicNotFound

    failed = None if metrics is None else metrics.value("acklog_compaction_failures_total")
    if failed:
        advice = "The server's log says why (compaction_failed); each is tried again, and a full disk is one reason."
        yield warn(
            "compaction failed", f"{count_text(int(failed), 'pass', plural='passes')} failed since the start", advice
        )
    compacted = [topic.name for topic in topics if "compact" in topic.config.cleanup_policy.split(",")]
    behind: list[str] = []
    silent: list[str] = []
    for name in compacted:
        try:
            state = client.tables.compaction(name)
        except (TopicNotFound, TopicNotCompacted):
            continue  # changed meanwhile
        except Forbidden:
            yield skipped(_NAME, "the token may not look at it")
            return
        behind += _behind(state)
        silent += [f"{name} ({count_text(state.failed, 'replica')})"] if state.failed else []
    if silent:
        yield warn("compaction unknown", f"could not be asked: {names_text(silent)}", "See: acklog cluster status.")
    if behind:
        advice = "Let it read faster (ACKLOG_NODE_COMPACTION_BYTES_PER_SECOND), or see the server's log for what fails."
        yield warn(_NAME, f"far behind: {names_text(behind)}", advice)
    else:
        yield ok(_NAME, f"{count_text(len(compacted), 'compacted topic')}, none far behind")


def _behind(state: "CompactionState") -> list[str]:
    """By the worst replica of the topic."""
    dirty = [
        replica.dirty_bytes
        for partition in state.partitions
        for replica in partition.replicas
        if replica.dirty_bytes >= max(BEHIND_BYTES, BEHIND_RATIO * (replica.clean_bytes + replica.dirty_bytes))
    ]
    return [f"{state.topic} ({size_text(max(dirty))} of a partition)"] if dirty else []
