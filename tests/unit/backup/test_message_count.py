"""How many messages batches hold."""

from hypothesis import given
from hypothesis import strategies as st

from acklog.backup.message_count import messages_from
from acklog.wire.batch import encode_batch, encode_control_batch, read_header, stamp
from acklog.wire.compacted_batch import encode_compacted, encode_placeholder, stored_records
from acklog.wire.record import Record

_KINDS = st.sampled_from(["messages", "control", "placeholder"])


def _batch(kind: str, kept: list[bool], base_offset: int) -> tuple[bytes, list[int]]:
    """A batch of as many places as `kept` has, and the offsets of its messages."""
    made = encode_batch([Record(b"x")] * len(kept))
    if kind == "control":
        made = encode_control_batch(b"", count=len(kept))
    stamp(made, base_offset=base_offset, leader_epoch=1, append_time_ms=1)
    header = read_header(made)
    if kind == "control":
        return bytes(made), []
    if kind == "placeholder":
        return bytes(encode_placeholder(header, base_offset=base_offset)), []
    if not all(kept):
        _, records = stored_records(made, header)
        made = encode_compacted(made, header, [each for each in records if kept[each.index]], compacted_ms=5)
    return bytes(made), [base_offset + index for index, is_kept in enumerate(kept) if is_kept]


@given(st.lists(st.tuples(_KINDS, st.lists(st.booleans(), min_size=1, max_size=5)), max_size=5), st.integers(0, 30))
def test_what_is_a_message_and_is_there_counts_once(parts: list[tuple[str, list[bool]]], first_offset: int) -> None:
    content, offsets, end = b"", list[int](), 0
    for kind, kept in parts:
        batch, found = _batch(kind, kept, end)
        content, offsets, end = content + batch, offsets + found, end + len(kept)
    assert messages_from(first_offset, content) == len([offset for offset in offsets if offset >= first_offset])
