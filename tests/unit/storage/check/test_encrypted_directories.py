"""A check of a directory with an encrypted topic: by checksums without its key, into everything with it."""

import msgspec
import pytest

from cluster.stores.sqlite_copy import SqliteContent
from storage.check.delivery_repair import DeliveryRepair
from storage.check.directory_check import DirectoryCheck, DirectoryReport
from storage.check.directory_ciphers import DirectoryCiphers
from storage.check.findings import FindingKind
from storage.encryption.local_master_key import LocalMasterKey
from storage.log.directory_role import ROLE_PATH
from tests.sim.environment import SimEntropy
from tests.support.encrypted_node import encrypted_topic, give_keys, master_key, with_keys
from tests.support.simulated_node import SimulatedNode


async def check(sim: SimulatedNode, key: LocalMasterKey | None) -> DirectoryReport:
    content = SqliteContent(items=list((await sim.store.list("/")).items))
    ciphers = DirectoryCiphers(key, SimEntropy(9))
    return DirectoryCheck(sim.disk, coordination=content, findings_max=100, decodes_records=True, ciphers=ciphers).run()


async def used(sim: SimulatedNode) -> str:
    """A topic that a group has received from; the node has stopped, and left a snapshot of the group."""
    topic, group = await encrypted_topic(sim), await sim.group()
    for number in range(3):
        await sim.send(topic, b"%d" % number)
    delivered = (await sim.receive(topic, group)).messages
    assert await sim.settle("ack", topic, group, delivered[:2]) == ["", ""]
    await sim.stop()
    return f"partitions/{topic.id}-0/delivery/snapshot"


def kinds(report: DirectoryReport) -> set[FindingKind]:
    return {finding.kind for finding in report.findings.kept} - {FindingKind.COORDINATION_BEHIND}


@pytest.mark.parametrize("name", ["", "first", "another"])
def test_it_says_what_it_did_not_look_into(name: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        await used(sim)
        report = await check(sim, master_key(name) if name else None)
        assert not report.findings.errors
        assert (FindingKind.ENCRYPTED in kinds(report)) == (name != "first")
        assert sum(topic.messages for topic in report.topics) == 3

    with_keys(main)


def test_of_a_nodes_directory_it_says_that_the_keys_are_elsewhere() -> None:
    async def main(sim: SimulatedNode) -> None:
        await used(sim)
        file = sim.disk.create(ROLE_PATH)
        file.write(0, [b'{"nodeId":1}'])
        file.close()
        report = await check(sim, master_key())
        assert FindingKind.KEYS_ELSEWHERE in kinds(report)
        assert FindingKind.ENCRYPTED not in kinds(report), "its advice is of no help here"

    with_keys(main)


def test_a_damaged_snapshot_is_made_anew_encrypted_and_only_with_the_key() -> None:
    async def main(sim: SimulatedNode) -> None:
        snapshot = await used(sim)
        content = sim.disk.files()[snapshot]
        sim.disk.bit_rot(snapshot, len(content) // 2, 3)
        without = await check(sim, None)
        [refused] = _repair(sim, without).plan()
        with_key = await check(sim, master_key())
        [planned] = _repair(sim, with_key).plan()
        assert FindingKind.SNAPSHOT_DAMAGED in kinds(with_key)
        assert not planned.refusal
        _repair(sim, with_key).carry_out(planned)
        assert planned.snapshot[8] == 0xC1
        with pytest.raises(msgspec.DecodeError):
            msgspec.msgpack.decode(planned.snapshot[8:])
        assert "--master-key-file" in refused.refusal
        await give_keys(sim, master_key())
        await sim.start()
        topic, group = sim.metadata.topic("orders"), sim.metadata.group("workers")
        assert topic is not None
        assert group is not None
        assert [each.record.body for each in (await sim.receive(topic, group)).messages][-1:] == [b"2"]

    with_keys(main)


def _repair(sim: SimulatedNode, report: DirectoryReport) -> DeliveryRepair:
    return DeliveryRepair(
        sim.disk, logs=report.logs, catalog=report.catalog, journal_key=report.journal_key, ciphers=report.ciphers
    )
