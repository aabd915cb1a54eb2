"""Names of topics and groups as they come in."""

from acklog.wire.limits import CONSUMER_NAME_LENGTH_MAX
from acklog.wire.names import name_fault
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError


def check_name(name: str, *, field: str) -> None:
    """Raises ServerError INVALID_NAME."""
    fault = name_fault(name)
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_NAME, fault, field=field)


def check_consumer(name: str) -> None:
    """Raises ServerError INVALID_FIELD."""
    if len(name) > CONSUMER_NAME_LENGTH_MAX or not name.isprintable():
        detail = f"must be at most {CONSUMER_NAME_LENGTH_MAX} printable characters"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="consumer")


def check_member(name: str) -> None:
    """Raises ServerError INVALID_FIELD."""
    if not 1 <= len(name) <= CONSUMER_NAME_LENGTH_MAX or not name.isprintable():
        detail = f"must be 1 to {CONSUMER_NAME_LENGTH_MAX} printable characters"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="member")


def queue_of(queue: str | None, topic: str | None) -> str:
    """`queue` and its alias `topic`: one of them. Raises ServerError MISSING_FIELD, INVALID_FIELD."""
    if queue is not None and topic is not None:
        raise ServerError(ProblemCode.INVALID_FIELD, "is another word for queue: give one of them", field="topic")
    name = queue if queue is not None else topic
    if name is None:
        raise ServerError(ProblemCode.MISSING_FIELD, "queue is required", field="queue")
    return name
