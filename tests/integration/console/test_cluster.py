"""The console of gateways of a cluster: the same page at each of them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from acklog import Client
from tests.integration.console.cluster_beside import cluster_beside
from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.support.etcd_binary import etcd_binary
from tests.support.real_cluster import RealCluster, RealClusterOptions

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

OPTIONS = RealClusterOptions(nodes=3, gateways=2, etcd_members=1)


@pytest.fixture(scope="module")
def cluster(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with cluster_beside(tmp_path_factory.mktemp("cluster"), etcd_binary(pytestconfig), OPTIONS) as running:
        yield running


def test_a_topic_of_a_cluster(cluster: RealCluster, open_page: OpenPage) -> None:
    one, other = cluster.gateway_urls
    with Client(one) as client:
        client.topics.create("orders", partitions=3)
        sent = client.send("orders", {"order": 1}, key="ada")
    watched = open_page(one, "#/topics/orders")
    page = watched.page
    partitions = page.get_by_role("region", name="Partitions")
    expect(partitions.get_by_role("row", name="Partition 0 node")).to_be_visible()
    expect(partitions.locator("tbody tr")).to_have_count(3)
    expect(page.get_by_role("term").filter(has_text="Under-replicated")).to_be_visible()
    watched.assert_clean()
    elsewhere = open_page(other, f"#/messages/{sent.message_id}", size=NARROW, colours="dark")
    expect(elsewhere.page.get_by_text('"order": 1')).to_be_visible()
    elsewhere.assert_clean()


def test_what_is_sent_at_one_gateway_shows_at_the_other(cluster: RealCluster, open_page: OpenPage) -> None:
    one, other = cluster.gateway_urls
    with Client(one) as client:
        client.topics.create("tailed", partitions=2)
        overview = open_page(one, size=WIDE)
        expect(overview.page.get_by_text("live", exact=True)).to_be_visible()
        tail = open_page(other, "#/tail?topic=tailed")
        expect(tail.page.get_by_text("Live. 0 messages so far.")).to_be_visible()
        client.send("tailed", {"from": "one"})
    expect(tail.page.get_by_text('{"from":"one"}')).to_be_visible()
    expect(overview.page.get_by_role("link", name="tailed")).to_be_visible()
    tail.assert_clean()
    overview.assert_clean()
