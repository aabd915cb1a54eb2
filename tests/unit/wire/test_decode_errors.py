"""Whatever the bytes are, what decodes them raises one kind of error."""

import msgspec
import pytest

from acklog.wire.decode_errors import with_decode_errors

decode_names = with_decode_errors(msgspec.msgpack.Decoder(dict[str, msgspec.Raw]).decode)


def test_what_is_right_is_decoded() -> None:
    assert decode_names(b"\x81\xa1a\x01") == {"a": msgspec.Raw(b"\x01")}


@pytest.mark.parametrize(
    "data",
    [b"", b"\x81\xa1a", b"\x05", b"\x81\xa1\xff\x01", b"\x81\xa1a" + b"\x91" * 100_000],
    ids=["nothing", "cut off", "another type", "no UTF-8", "nested without end"],
)
def test_what_is_wrong_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_names(data)
