"""The map of a cluster, and a node that is drained by who may."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from acklog import Client
from tests.integration.console.cluster_beside import cluster_beside
from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.integration.console.test_everywhere import serious_faults
from tests.support.etcd_binary import etcd_binary
from tests.support.real_cluster import RealCluster, RealClusterOptions
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

BOSS, WATCHER = "boss-secret-of-16", "watcher-secret-of-16"
TOKENS = f"""
tokens = [
  {{ name = "boss", token = "{BOSS}", roles = ["admin"] }},
  {{ name = "watcher", token = "{WATCHER}", roles = ["viewer"] }},
]
"""
RACK = "<b>west"


@pytest.fixture(scope="module")
def cluster(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    directory = tmp_path_factory.mktemp("map")
    tokens = directory / "tokens.toml"
    tokens.write_text(TOKENS)
    options = RealClusterOptions(
        nodes=4,
        gateways=1,
        etcd_members=1,
        node_environment={"ACKLOG_RACK": RACK},
        gateway_environment={"ACKLOG_TOKENS_FILE": str(tokens)},
    )
    with cluster_beside(directory / "cluster", etcd_binary(pytestconfig), options) as running:
        with Client(running.gateway_urls[0], token=BOSS) as client:
            client.topics.create("orders", partitions=3, replication_factor=2)
        yield running


def node(page: Page, number: int) -> Locator:
    return page.get_by_role("listitem", name=f"Node {number}", exact=True)


def test_nodes_stand_in_their_racks(cluster: RealCluster, open_page: OpenPage) -> None:
    watched = open_page(cluster.gateway_urls[0], "#/topics", token=BOSS)
    page = watched.page
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("c")
    rack = page.get_by_role("region", name=f"Rack {RACK}")
    expect(rack.get_by_role("listitem")).to_have_count(4)
    expect(rack.get_by_text("live", exact=True)).to_have_count(4)
    expect(rack.get_by_text("controller", exact=True)).to_have_count(1)
    expect(page.get_by_text("4 of 4")).to_be_visible()
    watched.assert_clean()


def test_a_node_is_drained_once_it_was_seen_what_moves(cluster: RealCluster, open_page: OpenPage) -> None:
    url = cluster.gateway_urls[0]
    watched = open_page(url, "#/cluster", token=BOSS)
    page = watched.page
    with Client(url, token=BOSS) as client:
        page.get_by_role("button", name="Drain node 3 …").click()
        expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
        expect(page.locator("dialog tbody tr").first).to_contain_text("node 3 is drained")
        assert not any(each.draining for each in client.cluster.status().nodes)
        page.get_by_role("button", name="Drain it").click()
        expect(page.get_by_text("Node 3 is being emptied.")).to_be_visible()
        expect(node(page, 3).get_by_text("drained", exact=True)).to_be_visible(timeout=60_000)
        expect(node(page, 3).get_by_text("It can be stopped for good.")).to_be_visible()
        page.get_by_role("button", name="Stop draining node 3").click()
        expect(page.get_by_role("button", name="Drain node 3 …")).to_be_visible()
        assert not any(each.draining for each in client.cluster.status().nodes)
    watched.assert_clean()


def test_no_node_is_drained_before_it_is_known_what_moves(cluster: RealCluster, open_page: OpenPage) -> None:
    page = open_page(cluster.gateway_urls[0], "#/cluster", token=BOSS).page
    problem = {"title": "Not now", "code": "NOT_READY", "detail": "no controller"}
    page.route("**/cluster/plan", lambda route: route.fulfill(status=503, json=problem))
    page.get_by_role("button", name="Drain node 1 …").click()
    expect(page.get_by_text("no controller")).to_be_visible()
    drain = page.get_by_role("button", name="Drain it")
    expect(drain).to_be_disabled()
    expect(drain).to_have_accessible_description("First see what would be moved.")


def test_what_has_nowhere_to_go_is_said_before(cluster: RealCluster, open_page: OpenPage) -> None:
    with Client(cluster.gateway_urls[0], token=BOSS) as client:
        client.topics.create("everywhere", partitions=2, replication_factor=4)
        page = open_page(cluster.gateway_urls[0], "#/cluster", token=BOSS).page
        page.get_by_role("button", name="Drain node 1 …").click()
        expect(page.get_by_text("2 partitions cannot be moved")).to_be_visible()
        expect(page.get_by_role("button", name="Drain it all the same")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        client.topics.delete("everywhere")


def test_who_only_looks_drains_nothing(cluster: RealCluster, open_page: OpenPage) -> None:
    page = open_page(cluster.gateway_urls[0], "#/cluster", token=WATCHER).page
    drain = page.get_by_role("button", name="Drain node 2 …")
    expect(drain).to_be_disabled()
    expect(drain).to_have_accessible_description("Your token “watcher” has no right to manage on the cluster.")


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_the_map_is_for_everybody(
    cluster: RealCluster, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    watched = open_page(cluster.gateway_urls[0], "#/cluster", size=size, colours=colours, token=BOSS)
    page = watched.page
    expect(node(page, 1)).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Drain node 1 …").click()
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    watched.assert_clean()


def test_an_embedded_server_says_that_it_is_one_node(shop: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(shop.base_url, "#/cluster", size=NARROW)
    expect(watched.page.get_by_text("This server is one node by itself")).to_be_visible()
    expect(watched.page.get_by_role("button", name="Drain")).to_have_count(0)
    assert serious_faults(watched.page) == []
    watched.assert_clean()
