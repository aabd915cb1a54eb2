"""An object in JSON that all its readers read alike.

Of a member that is there twice one reader takes the first and another the last, so that a proxy may have judged what
nobody here has seen.
"""

import json
from typing import Any

import msgspec


class PlainObjectError(ValueError):
    """It is none."""


def plain_object(content: bytes) -> dict[str, Any]:
    """In UTF-8, and with each member once in every object. Raises PlainObjectError."""
    try:
        found: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
        json.loads(content.decode(), object_pairs_hook=_each_once)
    except PlainObjectError:
        raise
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise PlainObjectError("it is no object in JSON") from None
    return found


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise PlainObjectError("a member of an object is there twice")
    return found
