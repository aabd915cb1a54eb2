"""How the model's values are written into the coordination store: JSON, so that an operator can read them there.

Versions live beside each other, and one that changes a value writes all of it again. What it does not know of it stays:
`encode_instead` keeps the members that no field of the value is for.
"""

from functools import partial
from typing import Any, TypeVar

import msgspec

from acklog.wire.decode_errors import with_decode_errors

_Model = TypeVar("_Model", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def encode(value: msgspec.Struct) -> bytes:
    return _encoder.encode(value)


def encode_instead(value: msgspec.Struct, written: bytes) -> bytes:
    """The value, to be written where `written` stands: an earlier value of the same kind, perhaps a newer version's.

    The unknown members of both are kept, of nested values too; of those in lists they are not, as nobody could tell
    which of them is which now.
    """
    plain = msgspec.to_builtins(value)
    _keep_unknown(value, plain, with_decode_errors(msgspec.json.decode)(written))
    return _encoder.encode(plain)


def decode(kind: type[_Model], value: bytes) -> _Model:
    """Raises msgspec.DecodeError for bytes that are not a `kind`: a newer or foreign store."""
    found: _Model = with_decode_errors(partial(msgspec.json.decode, type=kind))(value)
    return found


def _keep_unknown(value: msgspec.Struct, plain: dict[str, Any], written: dict[str, Any]) -> None:
    """Add to `plain`, the value as it is to be written, what was written and is no field of it."""
    fields = {field.encode_name: getattr(value, field.name) for field in msgspec.structs.fields(value)}
    for name, member in written.items():
        if name not in fields:
            plain[name] = member
        elif isinstance(fields[name], msgspec.Struct) and isinstance(member, dict) and name in plain:
            _keep_unknown(fields[name], plain[name], member)
