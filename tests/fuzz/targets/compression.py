"""Compressed payloads: nothing unpacks to more than is allowed."""

from acklog.wire.compression import Codec, compress, decompress, unpacked_bytes
from tests.fuzz.fuzz_target import FuzzTarget

_LIMIT_BYTES = 256 * 1024
_CODECS = (Codec.ZSTD, Codec.LZ4)


def _seeds() -> list[bytes]:
    contents = (b"", b"abc" * 100, bytes(range(256)), bytes(_LIMIT_BYTES), bytes(_LIMIT_BYTES + 1))
    return [bytes([number]) + compress(codec, plain) for number, codec in enumerate(_CODECS) for plain in contents]


def _read(data: bytes) -> None:
    codec, packed = _CODECS[(data[0] if data else 0) % len(_CODECS)], data[1:]
    said = unpacked_bytes(codec, packed)
    plain = decompress(codec, packed, limit_bytes=_LIMIT_BYTES)
    assert len(plain) <= _LIMIT_BYTES
    assert said in {len(plain), -1}
    assert decompress(codec, compress(codec, plain), limit_bytes=_LIMIT_BYTES) == plain


TARGET = FuzzTarget(_read, (ValueError,), _seeds)
