"""A log that no release has: one more row of the table, for as long as a test lasts."""

from collections.abc import Iterator
from contextlib import contextmanager

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from storage.log.log_queue import Appended
from storage.log.log_table import LOGS, LogSpec, Space
from storage.node.replicas.replica_host import ReplicaHost
from storage.rpc.handshake import NEWEST_VERSION

TOY = 3


@contextmanager
def toy_log(*, since_version: int = NEWEST_VERSION) -> Iterator[LogSpec]:
    """Every partition has it, from its next opening on."""
    spec = LogSpec(
        TOY,
        "toy",
        directory="toy",
        space=lambda _topic: Space.NORMAL,
        has_state=False,
        since_version=since_version,
        segment_bytes=lambda _topic, _sizes: 700,
    )
    assert spec.number not in LOGS
    LOGS[spec.number] = spec
    try:
        yield spec
    finally:
        del LOGS[spec.number]


async def write_toy(leader: ReplicaHost, body: bytes) -> Appended:
    """Append a record to the toy log of a partition that this replica leads; it is not committed yet. Raises
    ServerError."""
    appended = await leader.logs[TOY].append(encode_batch([Record(body)]), leader_epoch=leader.leader_epoch)
    leader.log_moved()
    return appended
