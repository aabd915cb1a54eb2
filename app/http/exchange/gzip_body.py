"""Gzip, unpacked as it comes in: never further than the limit, and little at a time."""

import zlib
from collections.abc import Callable, Generator

from acklog.wire.limits import GZIP_MEMBERS_MAX
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

_GZIP = 16 + zlib.MAX_WBITS
STEP_BYTES = 256 * 1024
STEP_MEMBERS = 64


class GzipUnpacker:
    """Several members, one behind the other, are one body, as RFC 1952 has it. `grew` is told the unpacked size, and
    raises where there is no room for it."""

    def __init__(self, *, bytes_max: int, too_large: Callable[[], ServerError], grew: Callable[[int], None]) -> None:
        self._bytes_max = bytes_max
        self._too_large = too_large
        self._grew = grew
        self._unpacked = bytearray()
        self._member: zlib._Decompress | None = None
        self._members = 0

    def steps(self, packed: bytes) -> Generator[None, None, None]:
        """Unpack what came next. Raises ServerError REQUEST_TOO_LARGE, BODY_INCOMPLETE, and what `grew` raises."""
        while packed:
            if self._member is None or self._member.eof:
                self._begin_member()
                if self._members % STEP_MEMBERS == 0:
                    yield
            packed = self._unpack(packed)
            if packed and self._member is not None and not self._member.eof:
                yield

    def end(self) -> bytes:
        """The body. Raises ServerError BODY_INCOMPLETE."""
        if self._member is None or not self._member.eof:
            raise ServerError(ProblemCode.BODY_INCOMPLETE, "the gzip stream ends early")
        return bytes(self._unpacked)

    def _begin_member(self) -> None:
        self._members += 1
        if self._members > GZIP_MEMBERS_MAX:
            detail = f"the body has more than {GZIP_MEMBERS_MAX} gzip members"
            raise ServerError(ProblemCode.REQUEST_TOO_LARGE, detail)
        self._member = zlib.decompressobj(_GZIP)

    def _unpack(self, packed: bytes) -> bytes:
        """Unpack one step; returns what is left of the packed bytes."""
        assert self._member is not None
        room = self._bytes_max - len(self._unpacked) + 1
        try:
            self._unpacked += self._member.decompress(packed, min(room, STEP_BYTES))
        except zlib.error as error:
            raise ServerError(ProblemCode.BODY_INCOMPLETE, f"the body is not valid gzip: {error}") from None
        if len(self._unpacked) > self._bytes_max:
            raise self._too_large()
        self._grew(len(self._unpacked))
        return self._member.unused_data if self._member.eof else self._member.unconsumed_tail
