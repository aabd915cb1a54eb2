"""A mirror from a cluster to an embedded server, whose topic grows meanwhile."""

from pathlib import Path

import pytest

from acklog import AsyncClient, OutgoingMessage
from tests.support.mirror_process import MirrorProcess, bodies_of
from tests.support.real_cluster import RealCluster
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="session")]

PARTITIONS = 3
MESSAGES = 600


async def send(client: AsyncClient, first: int) -> None:
    messages = [OutgoingMessage(number, key=str(number % 31)) for number in range(first, first + MESSAGES)]
    results = await client.send_many("mirrored", messages, idempotency_key=f"from-{first}")
    assert not [each for each in results if isinstance(each, Exception)]


@pytest.mark.timeout(300)
async def test_a_cluster_is_copied_to_an_embedded_server(shared_cluster: RealCluster, tmp_path: Path) -> None:
    source_url = shared_cluster.gateways[1].url
    with ServerProcess(tmp_path / "data", tmp_path / "log") as server:
        async with AsyncClient(source_url) as source, AsyncClient(server.base_url) as target:

            async def copy() -> None:
                log_path = tmp_path / "mirror.log"
                mirror = MirrorProcess(source_url, server.base_url, "mirrored", "--once", log_path=log_path)
                assert await mirror.ended() == 0, log_path.read_text()

            await source.topics.create("mirrored", PARTITIONS)
            await send(source, 0)
            await copy()
            await source.topics.update("mirrored", partitions=PARTITIONS + 2)
            await send(source, MESSAGES)
            await copy()
            for partition in range(PARTITIONS + 2):
                sent = await bodies_of(source, "mirrored", partition)
                assert sent
                assert await bodies_of(target, "mirrored", partition) == sent
