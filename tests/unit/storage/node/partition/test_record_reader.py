"""Messages by their offset."""

import asyncio
from types import SimpleNamespace

import pytest

from acklog.wire.batch import verify
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.partition.batch_cache import BatchCache
from storage.node.partition.record_reader import RecordReader
from tests.support.control_batch import control_batch

KEY = LogKey("topic00000000", 0, LogKind.MESSAGES)


def test_what_the_log_has_of_its_own_is_no_message() -> None:
    """And no damage."""
    cache = BatchCache(bytes_max=10_000)
    mark = control_batch(7)
    cache.put(KEY, verify(mark), mark)
    reader = RecordReader(SimpleNamespace(key=KEY), cache, read_ahead_bytes=1)
    with pytest.raises(ServerError) as caught:
        asyncio.run(reader.record_at(7, readable_end=8))
    assert caught.value.code is ProblemCode.MESSAGE_NOT_FOUND
