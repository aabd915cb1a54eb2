"""The messages through the framed protocol's codec."""

from cluster.model.values import PartitionState
from storage.replication.assignment import IsrMember, assignment_of
from storage.replication.divergence import Diverged, LogPosition, Restart
from storage.replication.messages import (
    FetchAnswer,
    FetchMode,
    FetchRequest,
    LogAnswer,
    PartitionAnswer,
    PartitionFetch,
    PartitionId,
    SnapshotAnswer,
    SnapshotRequest,
)
from storage.rpc.methods import Method
from tests.unit.storage.replication.support import identity

FETCH = Method(100, "fetch", FetchRequest, FetchAnswer, response_attachment="batches")
SNAPSHOT = Method(101, "snapshot", SnapshotRequest, SnapshotAnswer, response_attachment="snapshot")
ID = PartitionId("t", 3)


def test_a_fetch_and_its_answer_come_back_as_they_went() -> None:
    request = FetchRequest(
        identity(2),
        FetchMode.LIVE,
        1,
        0,
        [PartitionFetch(ID, 5, [LogPosition(3, 1), LogPosition(0, -1)])],
        [PartitionId("t", 4)],
        100,
        50,
    )
    body, attachment = FETCH.request.encode(request)
    assert FETCH.request.decode(memoryview(body), memoryview(attachment)) == request
    logs = [
        LogAnswer(LogPosition(3, 1), 0, 2, 9, size_bytes=4),
        LogAnswer(LogPosition(0, -1), 0, 0, 0, diverged=Diverged(1, 2), restart=Restart(3)),
    ]
    answer = FetchAnswer(1, 1, 0, [PartitionAnswer(ID, 5, logs=logs)], b"abcd")
    body, attachment = FETCH.response.encode(answer)
    assert bytes(attachment) == b"abcd"
    assert FETCH.response.decode(memoryview(body), memoryview(attachment)) == answer


def test_a_snapshot_travels_beside_its_description() -> None:
    answer = SnapshotAnswer(5, 70, b"state")
    body, attachment = SNAPSHOT.response.encode(answer)
    assert SNAPSHOT.response.decode(memoryview(body), memoryview(attachment)) == answer


def test_an_assignment_is_read_from_the_partitions_state() -> None:
    state = PartitionState("t", 0, (1, 2, 3), (1, 3), 3, 8, 5, directories=("a", "b", "c"))
    read = assignment_of(state, revision=70)
    assert read.isr == (IsrMember(1, "a"), IsrMember(3, "c"))
    assert (read.leader, read.leader_incarnation, read.leader_epoch, read.revision) == (3, 8, 5, 70)
