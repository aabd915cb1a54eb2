"""What the tables of operations say of an administrative one, and whether somebody may do it."""

import msgspec

from app.auth.principal import Principal
from app.calls.groups import SeekFields
from app.http.description.media_types import JSON
from app.http.description.needed_rights import NEEDED, Needed, On
from app.http.description.operations import OPERATIONS
from app.http.description.schemas import REQUESTS
from cluster.model.action import Action

_FIELDS = {each.__name__: each for each in REQUESTS} | {"OffsetsChange": SeekFields}
"""By the schema of the body. What changes offsets is an act where it is a seek."""


def is_told_by_endpoint(operation: str) -> bool:
    """Whether the endpoint says when the act begins: what has a body says only there what is asked for."""
    return bool(OPERATIONS[operation].body)


def is_told_by_body(operation: str) -> bool:
    """Whether only the body says that it is an administrative act at all."""
    return bool(NEEDED[operation].instead)


def fields_of(operation: str) -> type[msgspec.Struct] | None:
    """What its body holds; None where it has none."""
    schema = OPERATIONS[operation].body.get(JSON)
    return None if schema is None else _FIELDS[schema["$ref"].rpartition("/")[2]]


def holds_needed(principal: Principal, needed: Needed, names: dict[str, str]) -> bool:
    """Whether the principal may do it as far as the names tell. Who may not is refused by the service, and cannot fill
    the log with intentions."""
    return all(any(_may(principal, action, need.on, names) for action in need.actions) for need in needed.needs)


def _may(principal: Principal, action: Action, on: On, names: dict[str, str]) -> bool:
    if on is On.TOPIC and "topic" in names:
        return principal.may_on_topic(action, names["topic"])
    if on is On.GROUP and "group" in names:
        return principal.may_on_group(action, names["group"])
    return principal.may_on_cluster(action) if on is On.CLUSTER else principal.may_somewhere(action)
