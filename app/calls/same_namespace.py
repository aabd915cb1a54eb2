"""A group reads topics of its own namespace, and nothing of it goes to another one: whatever rights say, so that what
is in a namespace stays in it. Decided by the names alone: an answer says nothing of what there is."""

from acklog.wire.name_patterns import EVERY_NAME, every_name_in, parts_of
from acklog.wire.names import NO_NAMESPACE, SEPARATOR, namespace_of
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError


def check_same_namespace(group: str, name: str, *, field: str) -> None:
    """`name` is of a topic, or of another group. Raises ServerError NAMESPACE_MISMATCH."""
    fault = namespace_mismatch(group, name, field=field)
    if fault is not None:
        raise fault


def namespace_mismatch(group: str, name: str, *, field: str | None = None) -> ServerError | None:
    if namespace_of(group) == namespace_of(name):
        return None
    detail = f"{name!r} is in {_named(namespace_of(name))}, and the group {group!r} in {_named(namespace_of(group))}"
    return ServerError(ProblemCode.NAMESPACE_MISMATCH, detail, field=field)


def check_pattern_of_namespace(group: str, pattern: str, *, field: str) -> None:
    """`*` is every topic of the group's namespace. Raises ServerError NAMESPACE_MISMATCH."""
    namespace = namespace_of(group)
    if pattern != EVERY_NAME and SEPARATOR.join(parts_of(pattern)[:-1]) != namespace:
        detail = f"{pattern!r} is no pattern of topics in {_named(namespace)}, where the group {group!r} is"
        raise ServerError(ProblemCode.NAMESPACE_MISMATCH, detail, field=field)


def pattern_within(group: str, pattern: str) -> str:
    """What the pattern is for, where the group is: `*` is no more than every topic of its namespace."""
    return every_name_in(namespace_of(group)) if pattern == EVERY_NAME else pattern


def _named(namespace: str) -> str:
    return "no namespace" if namespace == NO_NAMESPACE else f"namespace {namespace!r}"
