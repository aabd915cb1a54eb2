"""The records of the topic in which groups' members are."""

from typing import get_args

from storage.groups.records import GroupRecord, GroupsFormatError, decode_record, encode_record
from tests.fuzz.built_values import built
from tests.fuzz.fuzz_target import FuzzTarget

_KINDS: tuple[type, ...] = get_args(GroupRecord)


def _seeds() -> list[bytes]:
    return [encode_record(built(kind, variant)) for kind in _KINDS for variant in range(2)]


def _read(data: bytes) -> None:
    record = decode_record(data)
    assert decode_record(encode_record(record)) == record


TARGET = FuzzTarget(_read, (GroupsFormatError,), _seeds)
