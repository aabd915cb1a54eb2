"""Names as they come in."""

from acklog.wire.limits import CONSUMER_NAME_LENGTH_MAX
from acklog.wire.names import full_name_fault, name_fault, namespace_fault
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError


def check_name(name: str, *, field: str) -> None:
    """Of a topic or a group. Raises ServerError INVALID_NAME."""
    _refuse(full_name_fault(name), field)


def check_plain_name(name: str, *, field: str) -> None:
    """Of what is in no namespace by itself. Raises ServerError INVALID_NAME."""
    _refuse(name_fault(name), field)


def check_namespace(name: str) -> None:
    """Raises ServerError INVALID_NAME."""
    _refuse(namespace_fault(name), "namespace")


def _refuse(fault: str | None, field: str) -> None:
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
