import pytest

from storage.check.directory_check import DirectoryCheck
from storage.check.findings import FindingKind
from storage.log.data_directory import META_PATH, DataDirectoryError
from storage.log.directory_role import ROLE_PATH, DirectoryRole, check_embedded, claim_for_node, read_role
from tests.sim.sim_disk import SimDisk
from tests.support.cluster import Cluster, ClusterBuilder

EMBEDDED = "coordination.sqlite"


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(seed=1)


def write(disk: SimDisk, path: str, content: bytes) -> None:
    file = disk.create(path)
    file.write(0, [content])
    file.sync()
    file.close()


def test_a_directory_is_the_first_nodes_that_uses_it(disk: SimDisk) -> None:
    check_embedded(disk, embedded_path=EMBEDDED)
    assert read_role(disk) is None
    claim_for_node(disk, 3, embedded_path=EMBEDDED)
    claim_for_node(disk, 3, embedded_path=EMBEDDED)
    assert read_role(disk) == DirectoryRole(3)
    with pytest.raises(DataDirectoryError, match="it is that of node 3: give node 4 another one"):
        claim_for_node(disk, 4, embedded_path=EMBEDDED)
    with pytest.raises(DataDirectoryError, match="node 3 of a cluster: run acklog node --id 3"):
        check_embedded(disk, embedded_path=EMBEDDED)


def test_an_embedded_servers_directory_is_no_nodes(disk: SimDisk) -> None:
    write(disk, EMBEDDED, b"topics")
    with pytest.raises(DataDirectoryError, match="embedded server"):
        claim_for_node(disk, 1, embedded_path=EMBEDDED)
    assert not disk.exists(ROLE_PATH)
    check_embedded(disk, embedded_path=EMBEDDED)


def test_a_used_directory_without_its_topics_is_refused(disk: SimDisk) -> None:
    write(disk, META_PATH, b"{}")
    with pytest.raises(DataDirectoryError, match=r"coordination\.sqlite.* is missing or empty"):
        check_embedded(disk, embedded_path=EMBEDDED)
    write(disk, EMBEDDED, b"")
    with pytest.raises(DataDirectoryError, match="acklog rebuild"):
        check_embedded(disk, embedded_path=EMBEDDED)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"nodeId": "x"}'])
def test_a_damaged_role_is_told(disk: SimDisk, content: bytes) -> None:
    write(disk, ROLE_PATH, content)
    for look in (lambda: read_role(disk), lambda: check_embedded(disk, embedded_path=EMBEDDED)):
        with pytest.raises(DataDirectoryError, match=r"role\.json is damaged"):
            look()


def test_a_nodes_directory_has_its_topics_elsewhere() -> None:
    async def main(cluster: Cluster) -> None:
        await cluster.stop(1)
        disk = cluster.disks[1]

        def kinds() -> list[FindingKind]:
            report = DirectoryCheck(disk, coordination=None, findings_max=10).run()
            return [finding.kind for finding in report.findings.kept]

        assert kinds() == [FindingKind.COORDINATION_MISSING], "as an embedded server's it would lack something"
        with pytest.raises(DataDirectoryError, match=r'role\.json is missing, .* it has {"nodeId":1}'):
            claim_for_node(disk, 1, embedded_path=EMBEDDED)
        write(disk, ROLE_PATH, b'{"nodeId":1}')
        claim_for_node(disk, 1, embedded_path=EMBEDDED)
        assert kinds() == []
        disk.remove(ROLE_PATH)
        write(disk, ROLE_PATH, b"damaged")
        assert kinds() == [FindingKind.META_DAMAGED]

    ClusterBuilder().nodes(1).run(main)
