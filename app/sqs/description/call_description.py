"""What `calls.toml` says, read and checked: every call of SQS, what it takes and what it answers."""

import pkgutil
import tomllib
from typing import Literal

import msgspec

FILE = "calls.toml"


class CallMember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`type` is that of a scalar, or the name of a collection. `from_path`: it is required, and the path may say it.
    `always`: it is told where it is empty, too."""

    type: str
    required: bool = False
    from_path: bool = False
    always: bool = False


CallMembers = dict[str, CallMember]


class CollectionDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list, or a map from texts, of scalars or structures. `query` is what the query protocol calls its parts, and
    `key` what it calls the key of a map's part where that is not `Name`."""

    query: str
    list: str = ""
    map: str = ""
    key: str = ""


class CallDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    about: str
    right: Literal["send", "receive", "settle", "look", "manage", "purge"]
    errors: list[str]
    input: CallMembers
    result: CallMembers = {}


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collections: dict[str, CollectionDescription]
    structures: dict[str, CallMembers]
    calls: dict[str, CallDescription]


def read_description() -> Description:
    """That of the file beside this module. Raises msgspec.ValidationError."""
    text = pkgutil.get_data("app.sqs.description", FILE)
    assert text is not None, "the file lies in the package"
    return msgspec.convert(tomllib.loads(text.decode()), Description)
