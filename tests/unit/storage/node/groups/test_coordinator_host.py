"""A coordinator whose log holds what nobody can make out: it says so, and is opened once that is over."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog

from acklog.wire.batch import encode_batch, encode_opaque_batch, read_header, stamp
from acklog.wire.record import Record
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.records import GroupGone, encode_record
from storage.groups.surroundings import TopicTable
from storage.node.groups.coordinator_host import CoordinatorHost
from tests.support.manual_clock import ManualClock, settle


class OneBatch:
    """A committed log of `__groups` with one batch."""

    def __init__(self, batch: bytearray) -> None:
        self.partition = 0
        self.log_start, self.high_watermark = 0, 1
        self.log = self
        self.put(batch)

    def put(self, batch: bytearray) -> None:
        stamp(batch, base_offset=0, leader_epoch=1, append_time_ms=1)
        self._stored = SimpleNamespace(header=read_header(batch), data=bytes(batch))

    async def wait_until_committed(self) -> None: ...

    async def read(self, offset: int, *, max_bytes: int, until: int) -> list[Any]:
        return [self._stored]


def records_of(content: bytes) -> bytearray:
    return encode_batch([Record(content)])


@pytest.mark.parametrize(
    "batch",
    [
        encode_opaque_batch(b"\x91\x05", count=1),
        records_of(b"\x92\x04\xa1\xff"),
        records_of(b"\x93\x04\xa1g" + b"\x91" * 3000),
    ],
    ids=["no messages", "a text that is no UTF-8", "nested without end"],
)
async def test_what_nobody_can_make_out_is_told_and_tried_again(batch: bytearray) -> None:
    clock, settings, crashes = ManualClock(), CoordinatorSettings(), list[BaseException]()
    log = OneBatch(batch)
    surroundings = cast(Any, SimpleNamespace(topics=lambda: TopicTable(()), terms=lambda _group_id: None))
    host = CoordinatorHost(
        cast(Any, log), cast(Any, None), surroundings, clock=clock, settings=settings, on_crashed=crashes.append
    )
    with structlog.testing.capture_logs() as logs:
        host.open()
        await settle()
    assert [entry["event"] for entry in logs] == ["group_coordinator_not_opened"]
    log.put(records_of(encode_record(GroupGone("g"))))
    await clock.advance_ms(settings.reopen_pause_ms)
    await settle()
    assert crashes == []
    assert host._coordinator is not None
