"""Which names topics and groups may have, and what else is named.

They appear in URLs, metric labels and directory-like keys, so the alphabet is Kafka's: letters, digits, `.`, `_`, `-`.
Names that start with two underscores belong to Acklog itself. A topic or a group may be in a namespace: its name is
then `namespace/name`, both by these rules. `name_fault` and `NAME_PATTERN` are about one such part, and about what has
no namespace: producers, schedules, tokens.
"""

import re

from acklog.wire.limits import NAME_LENGTH_MAX, NAMESPACE_LENGTH_MAX

SEPARATOR = "/"
NO_NAMESPACE = ""

DEFAULT_GROUP = "default"
"""Whose a receive is that names none, in the namespace of its topics."""

_ALLOWED = rf"[A-Za-z0-9._-]{{1,{NAME_LENGTH_MAX}}}"
_NAME = re.compile(_ALLOWED)
_NOT_SPECIAL = r"(?!\.{1,2}$)(?!__)"
NAME_PATTERN = rf"^{_NOT_SPECIAL}{_ALLOWED}$"
NAMESPACE_PATTERN = rf"^{_NOT_SPECIAL}[A-Za-z0-9._-]{{1,{NAMESPACE_LENGTH_MAX}}}$"
FULL_NAME_PATTERN = (
    rf"^(?=.{{1,{NAME_LENGTH_MAX}}}$)((?!\.{{1,2}}/)(?!__)[A-Za-z0-9._-]{{1,{NAMESPACE_LENGTH_MAX}}}/)?"
    rf"{_NOT_SPECIAL}[A-Za-z0-9._-]+$"
)
"""Of a topic or a group."""


def namespace_of(full_name: str) -> str:
    """NO_NAMESPACE where it is in none."""
    namespace, separator, _ = full_name.partition(SEPARATOR)
    return namespace if separator else NO_NAMESPACE


def local_name(full_name: str) -> str:
    """Without its namespace."""
    _, separator, name = full_name.partition(SEPARATOR)
    return name if separator else full_name


def in_namespace(namespace: str, name: str) -> str:
    """The full name."""
    return f"{namespace}{SEPARATOR}{name}" if namespace else name


def default_group_of(topic_name: str) -> str:
    """Whose a receive from the topic is that names no group."""
    return in_namespace(namespace_of(topic_name), DEFAULT_GROUP)


def full_name_fault(name: str) -> str | None:
    """Why `name` may not name a topic or a group, with or without a namespace; None if it may."""
    if len(name) > NAME_LENGTH_MAX:
        return _too_long(name, NAME_LENGTH_MAX)
    namespace, separator, local = name.partition(SEPARATOR)
    if not separator:
        return name_fault(name)
    if SEPARATOR in local:
        return f"may hold one {SEPARATOR!r}, between a namespace and a name"
    fault = namespace_fault(namespace)
    if fault is not None:
        return f"has a namespace, which {fault}"
    fault = name_fault(local)
    return None if fault is None else f"has a part behind {SEPARATOR!r}, which {fault}"


def namespace_fault(name: str) -> str | None:
    """Why `name` may not name a namespace; None if it may."""
    if len(name) > NAMESPACE_LENGTH_MAX:
        return _too_long(name, NAMESPACE_LENGTH_MAX)
    return name_fault(name)


def name_fault(name: str) -> str | None:
    """Why `name` may not name what has no namespace; None if it may."""
    if not name:
        return "must not be empty"
    if len(name) > NAME_LENGTH_MAX:
        return _too_long(name, NAME_LENGTH_MAX)
    if not _NAME.fullmatch(name):
        return "may hold only letters, digits, '.', '_' and '-'"
    if name in {".", ".."}:
        return "must not be '.' or '..'"
    if name.startswith("__"):
        return "must not start with '__', such names belong to Acklog itself"
    return None


def _too_long(name: str, limit: int) -> str:
    return f"has {len(name)} characters, the limit is {limit}"
