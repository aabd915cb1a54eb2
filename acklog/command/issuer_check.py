"""What a doctor says of the issuer whose signed tokens a gateway takes: whether its keys can be read."""

from collections.abc import Iterator

from acklog.command.checkup import Check, fail, ok, warn
from acklog.command.server_metrics import ServerMetrics
from acklog.command.times import duration_text

NAME = "issuer"


def issuer_checks(metrics: ServerMetrics) -> Iterator[Check]:
    """By the figures of the gateway that was asked; nothing of one that takes no such tokens."""
    left_s = metrics.value("acklog_jwt_keys_left_seconds")
    if left_s is not None:
        yield _of_keys(left_s, age_s=metrics.value("acklog_jwt_keys_age_seconds") or 0)


def _of_keys(left_s: float, *, age_s: float) -> Check:
    events = "issuer_keys_not_read, issuer_has_no_keys"
    advice = f"See why in the server's log ({events}), and whether the server reaches the issuer."
    if left_s <= 0:
        return fail(NAME, "no key of the issuer is good: its tokens are refused with 503", advice)
    finding = f"the issuer's keys were read {duration_text(round(age_s * 1000))} ago"
    if age_s > left_s:
        return warn(NAME, f"{finding}, and are good for {duration_text(round(left_s * 1000))} more", advice)
    return ok(NAME, finding)
