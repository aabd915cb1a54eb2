"""Messages by their offset."""

import asyncio
from types import SimpleNamespace

import pytest

from acklog.wire.batch import verify
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.log_calls import LogCalls
from storage.node.partition.batch_cache import BatchCache, UndecodableError
from storage.node.partition.filter_figures import FilterFigures
from storage.node.partition.record_reader import RecordReader
from storage.rpc.inspect_messages import InspectRequest
from tests.support.control_batch import control_batch

KEY = LogKey("topic00000000", 0, LogKind.MESSAGES)


def reader_of_a_mark(offset: int) -> RecordReader:
    cache = BatchCache(bytes_max=10_000)
    mark = control_batch(offset)
    cache.put(KEY, verify(mark), mark)
    return RecordReader(SimpleNamespace(key=KEY), cache, FilterFigures(), read_ahead_bytes=1)


def test_what_the_log_has_of_its_own_is_nothing_to_deliver() -> None:
    """A group that does not look gives it up, as whatever cannot be decoded."""
    with pytest.raises(UndecodableError):
        asyncio.run(reader_of_a_mark(7).record_at(7, readable_end=8))


def test_a_message_id_that_names_it_is_of_no_message() -> None:
    async def is_confirmed() -> bool:
        return True

    partition = SimpleNamespace(
        leadership=SimpleNamespace(standing=SimpleNamespace(is_confirmed=is_confirmed)),
        host=SimpleNamespace(readable_start=0, readable_end=8),
        reader=reader_of_a_mark(7),
    )
    request = InspectRequest("topic00000000", 0, 7, leader_epoch=3)
    with pytest.raises(ServerError) as caught:
        asyncio.run(LogCalls(FilterFigures(), waiting_records_max=1).inspect(partition, request))
    assert caught.value.code is ProblemCode.MESSAGE_NOT_FOUND
