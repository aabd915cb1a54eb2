"""Bodies in gzip, unpacked as they come in."""

import gzip
import zlib

from acklog.wire.problems import ProblemCode
from app.http.exchange.gzip_body import GzipUnpacker
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import cut_up

_BYTES_MAX = 64 * 1024


def _seeds() -> list[bytes]:
    body = b'{"queue":"orders","body":1}'
    packed = gzip.compress(body, mtime=0)
    bomb = gzip.compress(bytes(_BYTES_MAX + 1), mtime=0)
    return [
        b"\x01" + packed,
        b"\x02" + packed * 3,
        b"\x03" + bomb,
        b"\x04" + packed[:-3],
        b"\x05" + packed + b"no gzip",
    ]


def _unpacked(packed: list[bytes]) -> bytes:
    sizes: list[int] = []
    too_large = ServerError(ProblemCode.REQUEST_TOO_LARGE, "more than the limit")
    unpacker = GzipUnpacker(bytes_max=_BYTES_MAX, too_large=lambda: too_large, grew=sizes.append)
    for part in packed:
        for _ in unpacker.steps(part):
            pass
    body = unpacker.end()
    assert len(body) <= _BYTES_MAX
    assert not sizes or max(sizes) == len(body)
    return body


def _read(data: bytes) -> None:
    seed, packed = data[0] if data else 0, data[1:]
    expected = _naively(packed)
    try:
        body = _unpacked(cut_up(packed, seed))
    except ServerError as error:
        assert expected is None or error.code is ProblemCode.REQUEST_TOO_LARGE, "good gzip was refused"
        raise
    assert body == expected
    assert _unpacked([packed]) == body


def _naively(packed: bytes) -> bytes | None:
    """One member behind the other, each to its end; None where that is no gzip."""
    if not packed:
        return None
    whole = b""
    while packed:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            whole += member.decompress(packed)
        except zlib.error:
            return None
        if not member.eof:
            return None
        packed = member.unused_data
    return whole


TARGET = FuzzTarget(_read, (ServerError,), _seeds)
