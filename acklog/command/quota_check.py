"""What a doctor says of quotas: which of them refuse requests, by the figures of the gateway that was asked."""

from acklog.command.checkup import Check, names_text, ok, warn
from acklog.command.server_metrics import ServerMetrics


def quota_check(metrics: ServerMetrics) -> Check:
    refused = {name: count for name, count in metrics.by_label("acklog_quota_refused_total", "quota").items() if count}
    used = metrics.by_label("acklog_quota_used_total", "quota")
    if not refused:
        in_use = f"{len(used):,} in use, none refused anything since the start" if used else "none in use"
        return ok("quotas", in_use)
    worst_first = sorted(refused, key=lambda name: (-refused[name], name))
    names = names_text([f"{name} ({int(refused[name]):,})" for name in worst_first])
    return warn("quotas", f"requests refused since the start by {names}", _advice(worst_first[0]))


def _advice(quota: str) -> str:
    """For `topic/orders/sendMessagesPerSecond` and its like."""
    kind, _, rest = quota.partition("/")
    name, _, _ = rest.rpartition("/")
    if kind == "topic":
        return f"Send less, or raise it: acklog topics update {name} --quota-messages unlimited."
    if kind == "group":
        return f"Receive less often, or raise it: acklog groups update {name} --quota-messages unlimited."
    if kind == "namespace":
        return f"Do less in it, or raise it: acklog namespaces set {name} --quota-messages unlimited."
    return "Slow down who has that token, or raise its quota in the gateways' tokens file."
