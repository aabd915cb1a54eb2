"""Tokens of an issuer at the gateways of a cluster, each of which asks for its keys itself."""

from pathlib import Path

import pytest

from acklog.client.async_client import AsyncClient
from acklog.errors import Forbidden, TokenExpired
from tests.support.local_issuer import AUDIENCE, ec_key, local_issuer
from tests.support.real_cluster import RealClusterOptions, running_real_cluster

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

TOKENS = """
tokens = []

[[identities]]
name = "tenants"
claims = { tenant = "*" }
roles = ["operator", "producer", "consumer"]
topics = ["{tenant}.*"]
groups = ["{tenant}.*"]
"""


async def test_any_gateway_takes_them_and_hears_of_new_keys(tmp_path: Path, etcd_program: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    with local_issuer() as issuer:
        environment = {
            "ACKLOG_TOKENS_FILE": str(tokens),
            "ACKLOG_JWT_ISSUER": issuer.url,
            "ACKLOG_JWT_AUDIENCE": AUDIENCE,
            "ACKLOG_JWT_KEYS_PAUSE_MS": "100",
        }
        options = RealClusterOptions(nodes=1, gateways=2, etcd_members=1, gateway_environment=environment)
        async with running_real_cluster(tmp_path, etcd_program, options) as cluster:
            for number, url in enumerate(cluster.gateway_urls):
                issuer.keys[f"key-{number}"] = ec_key()
                token = issuer.token(f"key-{number}", tenant="acme")
                async with AsyncClient(url, token=token, timeout_s=60) as client:
                    if number == 0:
                        await client.topics.create("acme.orders", partitions=1)
                        await client.groups.create("acme.shop")
                    await client.send("acme.orders", number)
                    [message] = await client.receive("acme.orders", group="acme.shop", wait_s=10)
                    await client.ack(message)
                    assert message.body == number
                    with pytest.raises(Forbidden):
                        await client.send("other.orders", 1)
                async with AsyncClient(url, token=issuer.token(tenant="acme", exp=1), timeout_s=60) as late:
                    with pytest.raises(TokenExpired):
                        await late.send("acme.orders", 1)
