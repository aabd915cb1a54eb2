"""What messages say of themselves before they are sent: that they are to be seen later, or for some time only."""

from acklog.wire.limits import DELAY_SECONDS_MAX
from acklog.wire.problems import ProblemCode
from app.calls.send import Outgoing, Produce
from cluster.errors import ServerError

PROTOCOL_WHAT = "delayed messages"
TTL_WHAT = "messages with a time to live"


def check_year(at_ms: int, now_ms: int, field: str) -> None:
    """Raises ServerError INVALID_FIELD."""
    if at_ms > now_ms + DELAY_SECONDS_MAX * 1000:
        raise ServerError(ProblemCode.INVALID_FIELD, "is more than a year ahead", field=field)


def settle_times(produce: Produce, now_ms: int) -> None:
    """Note whether any of the messages is to be seen later, or for some time only, what is wrong with when, and whether
    any names its partition.

    What was to be seen by now is a message like any other; but for one with an idempotency key, which goes where its
    first try went, as that may have been in time.
    """
    if produce.plain_keys() is not None:  # nearly always: none of them says anything of the kind
        return
    for place, message in enumerate(produce.messages):
        if not isinstance(message, Outgoing):
            continue
        if message.partition is not None:
            produce.has_choices = True
        if message.record.ttl_ms is not None:
            produce.has_ttl = True
        if message.record.schedule is None:
            continue
        at_ms = message.record.schedule.at_ms
        try:
            check_year(at_ms, now_ms, f"messages[{place}].deliverAt" if produce.is_batch else "deliverAt")
        except ServerError as fault:
            produce.messages[place] = fault.with_traceback(None)
            continue
        has_key = message.dedup_id is not None or produce.idempotency_key is not None
        if 0 <= at_ms <= now_ms and not has_key:
            message.record.schedule, message.is_at_once = None, True
        else:
            produce.has_later = True
