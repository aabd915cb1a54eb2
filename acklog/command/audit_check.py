"""What a doctor says of the audit log, by the figures of the gateway that was asked."""

from acklog.command.checkup import Check, ok, skipped, warn
from acklog.command.server_metrics import ServerMetrics

_TOPIC = "See who leads the topic __audit, and which replicas are away: acklog cluster status."


def audit_check(metrics: ServerMetrics) -> Check:
    """Records that wait are told while they do, and those that were lost until the gateway starts anew."""
    lost, waiting = metrics.value("acklog_audit_records_lost_total"), metrics.value("acklog_audit_waiting_bytes")
    if lost is None or waiting is None:
        return skipped("audit log", "the server is of a version that has none")
    if lost:
        return warn("audit log", f"{int(lost):,} records were lost since the start: nobody could store them", _TOPIC)
    if waiting:
        return warn("audit log", f"{int(waiting):,} bytes of records wait to be stored", _TOPIC)
    stored = metrics.value("acklog_audit_records_total") or 0
    return ok("audit log", f"{int(stored):,} records stored since the start, none lost")
