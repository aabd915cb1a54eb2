"""Alerts of who is let in, and of what is recorded of it: each fires for its fault, and is over with it."""

import asyncio
from pathlib import Path

import pytest

from acklog.client.async_client import AsyncClient
from tests.integration.alerts.alert_watch import alert_watch, needs_prometheus
from tests.integration.cluster.gateways import ask
from tests.integration.conftest import ServerMaker
from tests.support.etcd_binary import etcd_binary
from tests.support.local_issuer import AUDIENCE, local_issuer
from tests.support.real_cluster import RealClusterOptions, running_real_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.faults,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("alerts"),
    needs_prometheus,
]

ROOT = "token-of-who-may-do-everything"
TOKENS = f'[[tokens]]\nname = "root"\ntoken = "{ROOT}"\nroles = ["admin"]\n'
OF_A_NODES_DEATH = frozenset(
    {"AcklogNodeMissing", "AcklogNoController", "AcklogPartitionsWithoutLeader", "AcklogServerErrors", "AcklogEtcdSlow"}
)
REFUSALS_AT_ONCE = 100
"""With a record of half a KiB or more each: there is room for some 2,000."""


def test_an_issuer_that_is_away(make_server: ServerMaker, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    with (
        local_issuer() as issuer,
        alert_watch(tmp_path / "alerts", request.node.name, token=ROOT) as watch,
    ):
        environment = {
            "ACKLOG_JWT_ISSUER": issuer.url,
            "ACKLOG_JWT_AUDIENCE": AUDIENCE,
            "ACKLOG_JWT_KEYS_REFRESH_MS": "1000",
            "ACKLOG_JWT_KEYS_PAUSE_MS": "200",
            "ACKLOG_JWT_KEYS_GOOD_MS": "60000",
        }
        server = make_server("--tokens-file", str(tokens), environment=environment).start()
        watch.until_quiet([server.base_url])
        issuer.is_away = True
        watch.until_firing()
        issuer.is_away = False
        watch.until_resolved()


async def test_an_audit_log_that_takes_nothing(
    pytestconfig: pytest.Config, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Refusals come in while nobody can store a record of them."""
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    environment = {
        "ACKLOG_TOKENS_FILE": str(tokens),
        "ACKLOG_AUDIT_WAITING_BYTES_MAX": str(1024 * 1024),
        "ACKLOG_AUDIT_REFUSALS_IN_FULL_MAX": "100000",
    }
    options = RealClusterOptions(nodes=1, gateways=1, etcd_members=1, gateway_environment=environment)
    async with running_real_cluster(tmp_path, etcd_binary(pytestconfig), options) as cluster:
        [url], [node] = cluster.gateway_urls, cluster.nodes.values()

        def is_refused_often() -> None:
            for _ in range(REFUSALS_AT_ONCE):
                assert ask(url, "GET", f"/topics/{'x' * 200}").status == 401

        async with AsyncClient(url, token=ROOT, timeout_s=60) as root:
            await root.topics.create("orders", partitions=1)  # its record is the first of the log
        with alert_watch(tmp_path / "alerts", request.node.name, token=ROOT) as watch:
            await asyncio.to_thread(watch.until_quiet, [url, node.url])
            await node.kill()
            await asyncio.to_thread(watch.until_firing, beside=OF_A_NODES_DEATH, keep=is_refused_often)
            await node.start()
            await asyncio.to_thread(watch.until_resolved)
