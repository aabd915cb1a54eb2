"""Which names topics and groups may have.

They appear in URLs, metric labels and directory-like keys, so the alphabet is Kafka's: letters, digits, `.`, `_`, `-`.
Names that start with two underscores belong to Acklog itself.
"""

import re

from acklog.wire.limits import NAME_LENGTH_MAX

_ALLOWED = rf"[A-Za-z0-9._-]{{1,{NAME_LENGTH_MAX}}}"
_NAME = re.compile(_ALLOWED)
NAME_PATTERN = rf"^(?!\.{{1,2}}$)(?!__){_ALLOWED}$"


def name_fault(name: str) -> str | None:
    """Why `name` may not name a topic or a group; None if it may."""
    if not name:
        return "must not be empty"
    if len(name) > NAME_LENGTH_MAX:
        return f"has {len(name)} characters, the limit is {NAME_LENGTH_MAX}"
    if not _NAME.fullmatch(name):
        return "may hold only letters, digits, '.', '_' and '-'"
    if name in {".", ".."}:
        return "must not be '.' or '..'"
    if name.startswith("__"):
        return "must not start with '__', such names belong to Acklog itself"
    return None
