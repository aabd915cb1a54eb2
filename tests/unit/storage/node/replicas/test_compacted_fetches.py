"""A follower's log may end in the middle of what its leader has one placeholder for."""

from itertools import accumulate

from acklog.wire.batch import read_header
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.partition.batch_cache import BatchCache
from storage.node.replicas.served_logs import ServedLogs
from storage.replication.divergence import LogPosition
from storage.replication.fetch_answer import Read
from storage.replication.messages import PartitionId
from tests.support.compaction import remaining
from tests.support.log_harness import SMALL_LOG
from tests.unit.storage.log.test_segment_rewrite import KEY, bytes_of, compact, filled


def test_a_follower_gets_the_rest_of_a_placeholder_wherever_it_ends() -> None:
    harness, log = filled()
    before = harness.run(bytes_of(log))
    places = [0, *accumulate(read_header(each).count for each in before)][:-1]
    harness.run(compact(log))
    served = ServedLogs([log], BatchCache(bytes_max=0))
    other = harness.run(harness.store.open_log(LogKey(KEY.topic_id, 9, KEY.kind), SMALL_LOG))

    async def fetch_from(offset: int) -> list[bytes]:
        await other.reset_to(offset)
        while other.log_end < log.log_end:
            position = LogPosition(other.log_end, -1)
            read = Read(PartitionId("alpha", 0), LogKind.MESSAGES, position, log.log_end, 700, takes_one=True)
            batches = await served.read(read)
            assert batches
            await other.append_stamped(batches)
        found = []
        offset = other.log_start
        while offset < other.log_end:
            found += [bytes(data) for _, data in await other.read(offset, max_bytes=700)]
            offset = read_header(found[-1]).next_offset
        return found

    left = remaining(harness.run(bytes_of(log)))
    for place in places:
        found = remaining(harness.run(fetch_from(place)))
        assert found == {offset: record for offset, record in left.items() if offset >= place}
    harness.dispose()
