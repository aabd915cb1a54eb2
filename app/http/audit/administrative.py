"""What the tables of operations say of an administrative one."""

import msgspec

from app.calls.groups import SeekFields
from app.http.description.media_types import JSON
from app.http.description.needed_rights import NEEDED
from app.http.description.operations import OPERATIONS
from app.http.description.schemas import REQUESTS

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
