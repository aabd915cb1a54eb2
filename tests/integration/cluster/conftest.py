"""The etcd that the clusters of this folder run, and a cluster that several tests share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.etcd_binary import etcd_binary
from tests.support.real_cluster import RealCluster, running_real_cluster


@pytest.fixture(scope="session")
def etcd_program(pytestconfig: pytest.Config) -> Path:
    return etcd_binary(pytestconfig)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def shared_cluster(etcd_program: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RealCluster]:
    """Three members of etcd, three nodes, two gateways. Each test uses a topic of its own, and leaves everything
    running and mended. It ends with the tests of this folder: what idles costs the others their processors."""
    async with running_real_cluster(tmp_path_factory.mktemp("cluster"), etcd_program) as cluster:
        yield cluster
