"""Every main job in light and dark, wide and narrow, of one server and of a cluster."""

from collections.abc import Callable, Iterator

import pytest

from acklog import Client
from tests.integration.console.cluster_beside import cluster_beside
from tests.integration.console.conftest import NARROW, WIDE, OpenPage, Watched
from tests.integration.console.jobs.main_jobs import JOBS, MainJob
from tests.integration.console.jobs.stage import set_stage
from tests.support.etcd_binary import etcd_binary
from tests.support.real_cluster import RealCluster, RealClusterOptions
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

NODES = 4
OPTIONS = RealClusterOptions(nodes=NODES, gateways=1, etcd_members=1)
Look = tuple[tuple[int, int], str]
BRIEF: Look = (NARROW, "light")
LOOKS: list[Look] = [(WIDE, "light"), (NARROW, "dark"), BRIEF, (WIDE, "dark")]
LOOKS_OF_CLUSTER = LOOKS[:2]
every_job = pytest.mark.parametrize("job", JOBS, ids=[each.name for each in JOBS])


def params_of(looks: list[Look]) -> list[object]:
    """One look is in every run of the tests, the others in the complete one."""
    names = {WIDE: "wide", NARROW: "narrow"}
    return [
        pytest.param(look, id=f"{names[look[0]]}-{look[1]}", marks=[] if look is BRIEF else pytest.mark.slow)
        for look in looks
    ]


@pytest.fixture(scope="module")
def cluster(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with cluster_beside(tmp_path_factory.mktemp("jobs"), etcd_binary(pytestconfig), OPTIONS) as running:
        yield running


@every_job
@pytest.mark.parametrize("look", params_of(LOOKS))
def test_it_is_done_on_one_server(shop: ServerProcess, open_page: OpenPage, look: Look, job: MainJob) -> None:
    do(job, shop.base_url, look, open_page)


@pytest.mark.slow
@every_job
@pytest.mark.parametrize("look", params_of(LOOKS_OF_CLUSTER))
def test_it_is_done_in_a_cluster(cluster: RealCluster, open_page: OpenPage, look: Look, job: MainJob) -> None:
    do(job, cluster.gateway_urls[0], look, open_page, nodes=NODES)


def do(job: MainJob, url: str, look: Look, open_page: Callable[..., Watched], *, nodes: int = 0) -> None:
    size, colours = look
    name = f"{job.name}-{size[0]}-{colours}".replace(" ", "-").replace("'", "")
    with Client(url) as client:
        stage = set_stage(client, name, nodes=nodes)
        watched = open_page(url, size=size, colours=colours)
        job.do(watched.page, stage)
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        watched.assert_clean()
