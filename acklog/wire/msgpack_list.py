"""How many items a msgpack list has, told without decoding any."""

from acklog.wire.compression import Buffer

NO_LIST = -1


def list_length(data: Buffer, at: int, end: int) -> int:
    """Of the list that begins at `at`; NO_LIST where there is none."""
    if at >= end:
        return NO_LIST
    first = data[at]
    if first & 0xF0 == 0x90:
        return first & 0x0F
    length_bytes = 2 if first == 0xDC else 4 if first == 0xDD else 0
    if not length_bytes or at + 1 + length_bytes > end:
        return NO_LIST
    return int.from_bytes(data[at + 1 : at + 1 + length_bytes], "big")
