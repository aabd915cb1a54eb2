"""How the model's values are written into the coordination store: JSON, so that an operator can read them there."""

from typing import TypeVar

import msgspec

_Model = TypeVar("_Model", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def encode(value: msgspec.Struct) -> bytes:
    return _encoder.encode(value)


def decode(kind: type[_Model], value: bytes) -> _Model:
    """Raises msgspec.ValidationError for bytes that are not a `kind`: a newer or foreign store."""
    return msgspec.json.decode(value, type=kind)
