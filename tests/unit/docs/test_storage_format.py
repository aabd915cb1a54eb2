"""docs/storage-format.md is enough to read what the code writes: its tables decode the code's own bytes."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from crc32c import crc32c
from msgspec.structs import asdict

from acklog.wire.batch import HEADER_BYTES, DedupKey, decode_keys, decode_records, encode_batch, stamp, verify
from acklog.wire.record import Record, tag_bit
from storage.delivery import records as delivery_records
from storage.delivery.group_snapshot import CommittedPosition, GroupSnapshot
from storage.delivery.partition_delivery import SNAPSHOT_VERSION
from storage.delivery.records import pack_offsets
from storage.disk.real_disk import RealDisk
from storage.groups import records as group_records
from storage.log.checkpoint import write_checkpoint
from storage.log.data_directory import FORMAT_VERSION
from storage.log.index import SegmentIndex, index_to_bytes
from storage.log.journal_frame import FRAME_HEADER_BYTES, encode_frame
from storage.log.journal_reach import make_reach
from storage.log.recovery_points import RecoveryPoint, RecoveryPoints
from tests.sim.sim_disk import SimDisk
from tests.unit.docs.documents import decode, hex_dump, layout, read_document, section, table

FINGERPRINT = bytes.fromhex("00112233445566ff")
BATCH_OF_0_1_0 = bytes.fromhex(
    """
    41 4b 42 31 00 00 00 9f 00 00 00 00 00 00 00 2a
    00 00 00 03 00 00 01 a1 ee 56 5e 7b 6a be 73 6a
    29 02 14 98 00 08 ff ff 00 00 00 02 00 00 01 a1
    ee 56 5e 00 00 00 01 a1 ee 56 5e 00 ff ff ff ff
    ff ff ff ff ff ff ff ff 00 00 40 00 00 00 00 00
    00 00 00 15 91 93 00 a7 6f 72 64 65 72 2d 31 c4
    08 00 11 22 33 44 55 66 ff 92 96 c4 0b 7b 22 6f
    72 64 65 72 22 3a 31 7d aa 63 75 73 74 6f 6d 65
    72 2d 31 c0 c0 c0 c0 96 c4 04 22 68 69 22 c0 c0
    91 a3 6e 65 77 cf 00 00 01 a1 ee 56 5e 00 c0
    """
)


@pytest.fixture(scope="module")
def document() -> str:
    return read_document("storage-format.md")


def test_the_example_batch_reads_as_the_page_says(document: str) -> None:
    content = hex_dump(section(document, "Example batch"))
    header = decode(layout(document, "Batch header"), content)

    assert header["magic"] == b"AKB1"
    assert header["length"] == len(content) == 164
    assert (header["base_offset"], header["leader_epoch"], header["append_time_ms"]) == (42, 3, 1_795_000_000_123)
    assert header["stamp_crc"] == crc32c(content[:28])
    assert header["content_crc"] == crc32c(content[36:])
    assert (header["flags"], header["count"]) == (0b1000, 2)
    assert header["tag_filter"] == tag_bit("new")

    keys_end = HEADER_BYTES + int(header["keys_length"])
    assert msgspec.msgpack.decode(content[HEADER_BYTES:keys_end]) == [[0, "order-1", FINGERPRINT, 1]]
    assert msgspec.msgpack.decode(content[keys_end:]) == [
        [b'{"order":1}', "customer-1", None, None, None, None, None, None],
        [b'"hi"', None, None, ["new"], 1_795_000_000_000, None, None, None],
    ]


def test_what_the_text_says_of_the_example_batch_is_in_it(document: str) -> None:
    text = section(document, "Example batch")
    content = hex_dump(text)
    said = " ".join(text.split("```")[-1].split())
    length = int.from_bytes(content[4:8])
    assert f"`{content[:4].hex(' ')}` is the magic, `{content[4:8].hex(' ')}` the length ({length})" in said
    assert f"`{content[0x24:0x26].hex(' ')}` says" in said
    keys_length = length - HEADER_BYTES - (length - 0x6A)
    assert f"the {keys_length} bytes from `{HEADER_BYTES:04x}` on (`{content[HEADER_BYTES:][:4].hex(' ')} …`)" in said
    assert (
        f"begins at `{HEADER_BYTES + keys_length:04x}` with `{content[HEADER_BYTES + keys_length :][:1].hex()}`" in said
    )


def test_the_code_reads_the_example_batch_in_the_same_way(document: str) -> None:
    content = hex_dump(section(document, "Example batch"))
    header = verify(content)
    assert decode(layout(document, "Batch header"), content) == {"magic": b"AKB1", **asdict(header)}
    assert [record.body for record in decode_records(content, header)] == [b'{"order":1}', b'"hi"']
    assert decode_keys(content, header) == [DedupKey(0, "order-1", FINGERPRINT, 1)]


def test_keys_of_version_0_1_0_cover_one_record_each() -> None:
    header = verify(BATCH_OF_0_1_0)
    assert decode_keys(BATCH_OF_0_1_0, header) == [DedupKey(0, "order-1", FINGERPRINT, 1)]
    assert [record.body for record in decode_records(BATCH_OF_0_1_0, header)] == [b'{"order":1}', b'"hi"']


def test_the_code_writes_the_example_batch(document: str) -> None:
    batch = encode_batch(
        [Record(b'{"order":1}', "customer-1"), Record(b'"hi"', None, None, ["new"], 1_795_000_000_000)],
        keys=[DedupKey(0, "order-1", FINGERPRINT)],
    )
    stamp(batch, base_offset=42, leader_epoch=3, append_time_ms=1_795_000_000_123)
    assert bytes(batch) == hex_dump(section(document, "Example batch"))


def test_the_header_has_the_size_that_the_table_says(document: str) -> None:
    last = layout(document, "Batch header")[-1]
    assert last.offset + last.size == HEADER_BYTES


def test_the_reach_of_the_journal(document: str) -> None:
    disk = SimDisk()
    disk.make_directory("journal")
    make_reach(disk, journal_key=2**63 + 1, sequence=1, life=4).write(9)
    content = disk.files()["journal/reach"]
    reach = decode(layout(document, "How far it got"), content)
    assert reach == {"magic": b"AKR1", "journal_key": 2**63 + 1, "sequence": 9, "crc": crc32c(content[:20])}
    life = content[512:536]
    assert life == b"AKL1" + (2**63 + 1).to_bytes(8) + (4).to_bytes(8) + crc32c(life[:20]).to_bytes(4)
    assert content[24:] == bytes(512 - 24) + life + bytes(4096 - 536)


def test_a_journal_frame(document: str) -> None:
    buffers, stored = encode_frame([(b"key-0", [b"batch", b"es"], 7)], journal_key=2**63 + 1, generation=7, sequence=9)
    content = b"".join(bytes(buffer) for buffer in buffers)
    fields = layout(document, "Journal frame")
    frame = decode(fields, content)
    assert fields[-1].offset + fields[-1].size == FRAME_HEADER_BYTES
    assert (frame["magic"], frame["journal_key"], frame["generation"], frame["sequence"]) == (b"AKJ1", 2**63 + 1, 7, 9)
    assert frame["header_crc"] == crc32c(content[8:44])
    assert frame["entries"] == 1
    body = content[44 : 44 + int(frame["body_bytes"])]
    assert frame["body_crc"] == crc32c(body)
    assert body == b"\x00\x05" + b"\x00\x00\x00\x07" + b"key-0" + b"batches"
    assert stored == len(content) == 4096
    assert not any(content[44 + len(body) :])


def test_a_checkpoint(document: str, tmp_path: Path) -> None:
    write_checkpoint(RealDisk(tmp_path), "points", b"payload")
    content = (tmp_path / "points").read_bytes()
    fields = decode(layout(document, "Checkpoint file"), content)
    assert fields == {"magic": b"AKC1", "crc": crc32c(content[8:]), "length": 7}
    assert content[16:] == b"payload"


def test_an_index(document: str) -> None:
    index = SegmentIndex(interval_bytes=1)
    index.add(100, 0, 5, 300)
    index.add(104, 300, 6, 300)
    content = index_to_bytes(index, (100, 108, 600, 5, 6, -1))
    fields = decode(layout(document, "Index file"), content)
    assert fields == {
        "magic": b"AKI1",
        "crc": crc32c(content[8:]),
        "base_offset": 100,
        "end_offset": 108,
        "size_bytes": 600,
        "first_append_ms": 5,
        "last_append_ms": 6,
        "last_keyed_ms": -1,
        "rows": 2,
    }
    columns = [int.from_bytes(content[at : at + 8], "big") for at in range(64, len(content), 8)]
    assert columns == [100, 104, 0, 300, 5, 6]


@pytest.mark.parametrize(
    ("title", "kinds"),
    [
        ("Delivery log and snapshot", get_args(delivery_records.DeliveryRecord)),
        ("Exclusive groups", get_args(group_records.GroupRecord)),
    ],
)
def test_the_kinds_of_records(document: str, title: str, kinds: tuple[type[msgspec.Struct], ...]) -> None:
    documented = {
        (int(kind), name): [field.strip() for field in fields.split(",")]
        for kind, name, fields in table(section(document, title))
    }
    in_code = {}
    for kind in kinds:
        name = kind.__name__
        in_code[kind.__struct_config__.tag, name] = list(kind.__struct_fields__)
    assert documented == in_code


def test_field_orders_in_running_text(document: str) -> None:
    text = re.sub(r"\s+", " ", document)
    for kind in (
        Record,
        delivery_records.ReturnedItem,
        GroupSnapshot,
        CommittedPosition,
        RecoveryPoint,
        RecoveryPoints,
    ):
        assert f"`[{', '.join(kind.__struct_fields__)}]`" in text, kind.__name__


def test_the_example_of_runs(document: str) -> None:
    assert "`[5, 2, 3, 1]` is 5, 6 and 10" in document
    assert pack_offsets([5, 6, 10]) == [5, 2, 3, 1]


def test_versions(document: str) -> None:
    assert f"Format version: **{FORMAT_VERSION}**" in document
    assert f"with version {SNAPSHOT_VERSION} and a group" in re.sub(r"\s+", " ", document)
