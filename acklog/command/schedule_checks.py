"""What a doctor says of messages for later: those that are due, and are not delivered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, names_text, ok, skipped, warn
from acklog.command.quantities import count_text
from acklog.command.server_metrics import ServerMetrics
from acklog.command.times import duration_text

if TYPE_CHECKING:
    from acklog import Client

LATE_MS = 60_000
"""Less than that may come of clocks that differ; beyond it the check of the clocks says so."""
_NAME = "schedules"


def schedules_check(client: "Client", topics: Sequence[str], metrics: ServerMetrics | None, *, now_ms: int) -> Check:
    """`topics` are served; `now_ms` is this machine's clock, `metrics` None where they cannot be read. Raises
    AcklogError."""
    from acklog.errors import NodesTooOld, TopicNotFound

    late: list[str] = []
    for topic in topics:
        try:
            found = client.scheduled.list(topic, before=now_ms - LATE_MS, limit=1)
        except TopicNotFound:
            continue  # deleted meanwhile
        except NodesTooOld:
            return skipped(_NAME, "not all nodes know messages for later yet")
        late += [f"{topic} (by {duration_text(now_ms - (each.deliver_at_ms or now_ms))})" for each in found]
    if late:
        advice = (
            "See the log of the server that leads the partition, and its disk: acklog schedule list TOPIC says which "
            "messages wait."
        )
        return warn(_NAME, f"messages are due and not delivered in {names_text(late)}", advice)
    finding = f"none late in {count_text(len(topics), 'topic')}"
    latest_s = None if metrics is None else metrics.value("acklog_scheduled_late_seconds_max")
    if latest_s:
        finding += f"; the latest so far came {duration_text(round(latest_s * 1000))} after its time"
    return ok(_NAME, finding)
