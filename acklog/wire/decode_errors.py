"""One kind of exception for bytes that are not what they should be.

msgspec raises its DecodeError for most of them. For text that is no UTF-8 it raises UnicodeDecodeError, and for what is
nested without end, also in fields that nobody knows, RecursionError, which is no ValueError either.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from acklog.wire.compression import Buffer

_Value = TypeVar("_Value")


def with_decode_errors(decode: Callable[[Buffer], _Value]) -> Callable[[Buffer], _Value]:
    """As `decode`, one of msgspec's; raises msgspec.DecodeError, and nothing else."""

    def decoded(data: Buffer) -> _Value:
        try:
            return decode(data)
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(f"a text is not valid UTF-8: {error.reason}") from error
        except RecursionError:
            raise msgspec.DecodeError("it is nested deeper than anybody could follow") from None

    return decoded
