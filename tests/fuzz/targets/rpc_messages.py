"""What is in the frames: requests and answers of every call between gateways and nodes."""

import struct
from typing import Any

from storage.rpc.handshake import Hello, Welcome
from storage.rpc.methods import FAILURE, HELLO, NODE_METHODS, PEER_METHODS, MalformedMessageError
from tests.fuzz.built_values import built
from tests.fuzz.fuzz_target import FuzzTarget

_HEAD = struct.Struct(">BBH")
_VARIANTS = 2
_CALLS = {**NODE_METHODS, **PEER_METHODS, HELLO.number: HELLO}
_FAILURE_NUMBER = 0
"""In the place of a method's number: what is answered where a call failed."""
_CODECS: dict[tuple[int, int], Any] = {
    **{(number, 0): method.request for number, method in _CALLS.items()},
    **{(number, 1): method.response for number, method in _CALLS.items()},
    (_FAILURE_NUMBER, 1): FAILURE,
}


class NoMessageError(ValueError):
    """The head names no message."""


def _seeds() -> list[bytes]:
    found = [_input(HELLO.number, 0, Hello(1, 8, True)), _input(HELLO.number, 1, Welcome(8))]
    for (number, direction), codec in sorted(_CODECS.items()):
        found += [_input(number, direction, built(codec._kind, variant)) for variant in range(_VARIANTS)]
    return found


def _input(number: int, direction: int, message: Any) -> bytes:
    body, attachment = _CODECS[number, direction].encode(message)
    return _HEAD.pack(number, direction, len(attachment)) + attachment + body


def _read(data: bytes) -> None:
    if len(data) < _HEAD.size:
        raise NoMessageError
    number, direction, attachment_length = _HEAD.unpack_from(data)
    codec = _CODECS.get((number, direction & 1))
    if codec is None:
        raise NoMessageError
    rest = memoryview(data)[_HEAD.size :]
    message = codec.decode(rest[attachment_length:], rest[:attachment_length])
    body, attachment = codec.encode(message)
    # Compared as bytes: numbers that are none (NaN) are equal to nothing.
    assert codec.encode(codec.decode(memoryview(body), memoryview(attachment))) == (body, attachment)


TARGET = FuzzTarget(_read, (MalformedMessageError, NoMessageError), _seeds)
