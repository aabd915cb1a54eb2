"""Processes of an earlier version are replaced one by one, as docs/operations.md says, and work together meanwhile."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.local_cluster.server_process import CONFIGURATION_VARIABLE, ServerProcess
from tests.integration.cluster.fault_load import under_load, undocumented, verdict
from tests.integration.cluster.sdk_load import sdk_load
from tests.support.earlier_version import PROTOCOL_VERSIONS, check_out
from tests.support.real_cluster import RealClusterOptions, running_real_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.faults,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

SENDS = 20


@pytest.fixture(params=PROTOCOL_VERSIONS)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment in which Python finds the earlier version."""
    directory = check_out(request.param, tmp_path / "earlier")
    environment = {"PYTHONPATH": str(directory)}
    tell = "import storage.rpc.handshake as found; print(found.__file__, found.NEWEST_VERSION)"
    told = subprocess.check_output([sys.executable, "-P", "-c", tell], env={**os.environ, **environment}, text=True)
    assert told.split() == [str(directory / "storage/rpc/handshake.py"), PROTOCOL_VERSIONS[request.param]]
    return environment


async def test_an_upgrade_is_not_noticed_through_the_sdk(
    earlier: dict[str, str], etcd_program: Path, tmp_path: Path
) -> None:
    """The first node goes back to the earlier version once: what has been written since is no other format."""
    environment = {**earlier, CONFIGURATION_VARIABLE: None}  # it knows no such setting
    options = RealClusterOptions(node_environment=environment, gateway_environment=environment)
    async with running_real_cluster(tmp_path / "cluster", etcd_program, options) as cluster:
        first = cluster.nodes[1]
        old_command = first.command

        async def replace(process: ServerProcess, command: list[str]) -> None:
            await process.stop()
            process.command = command
            await load.progress(SENDS)
            await process.start()
            await load.watch.until_in_sync(3)
            await load.progress(SENDS)

        async with under_load(cluster, "upgrade", producers=4) as load:
            async with sdk_load(cluster, "upgrade-sdk") as sdk:
                await replace(first, present(first))
                await replace(first, list(old_command))
                for process in [*cluster.nodes.values(), *cluster.gateways.values()]:
                    await replace(process, present(process))
            await load.healed()
        assert await verdict(load) == []
        assert undocumented(load) == {}
        assert sdk.confirmed <= sdk.handled.keys()
        assert len(sdk.confirmed) > SENDS


def present(process: ServerProcess) -> list[str]:
    """The same process, of the version that is tested."""
    return list(process.command)[list(process.command).index(sys.executable) :]
