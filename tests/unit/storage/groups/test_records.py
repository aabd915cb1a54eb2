"""What is on disk stays readable: the bytes of each kind of record, as the first version wrote them."""

import msgspec
import pytest

from storage.groups.records import (
    Assigned,
    GroupGone,
    GroupRecord,
    GroupsFormatError,
    GroupWritten,
    MemberGone,
    MemberWritten,
    Owned,
    decode_record,
    encode_record,
)
from storage.rpc.membership_messages import UNSAID

OWNED = Owned("topic", "one", 3, True, (0, 2), 2, 3)
WRITTEN = MemberWritten("group", 2, "one", 1, 2, ("topic",), ("a*",), "rack", 15_000, True, "first")

RECORDS: list[tuple[GroupRecord, list[object]]] = [
    (WRITTEN, [1, "group", 2, "one", 1, 2, ["topic"], ["a*"], "rack", 15_000, True, "first"]),
    (MemberGone("group", 3, "one", has_left=True), [2, "group", 3, "one", True]),
    (Assigned("group", 3, (OWNED,)), [3, "group", 3, [["topic", "one", 3, True, [0, 2], 2, 3]]]),
    (GroupGone("group"), [4, "group"]),
    (
        GroupWritten("group", 3, (WRITTEN,), (OWNED,)),
        [
            5,
            "group",
            3,
            [[1, "group", 2, "one", 1, 2, ["topic"], ["a*"], "rack", 15_000, True, "first"]],
            [["topic", "one", 3, True, [0, 2], 2, 3]],
        ],
    ),
]


@pytest.mark.parametrize(("record", "stored"), RECORDS)
def test_a_record_is_stored_by_position(record: GroupRecord, stored: list[object]) -> None:
    assert msgspec.msgpack.decode(encode_record(record)) == stored
    assert decode_record(msgspec.msgpack.encode(stored)) == record
    assert decode_record(msgspec.msgpack.encode([*stored, "of a later version"])) == record


def test_what_earlier_versions_wrote_is_read() -> None:
    """They did not say who left, nor since when the owners before are gone."""
    gone = decode_record(msgspec.msgpack.encode([2, "group", 3, "one"]))
    assert gone == MemberGone("group", 3, "one", has_left=False)
    assigned = decode_record(msgspec.msgpack.encode([3, "group", 3, [["topic", "one", 3, True, [0, 2]]]]))
    assert assigned == Assigned("group", 3, (Owned("topic", "one", 3, True, (0, 2), UNSAID, UNSAID),))


@pytest.mark.parametrize("stored", [b"", b"\xc1", msgspec.msgpack.encode([99, "group"]), msgspec.msgpack.encode([2])])
def test_what_is_no_record_is_refused(stored: bytes) -> None:
    with pytest.raises(GroupsFormatError):
        decode_record(stored)
