"""Stored tokens are those of all gateways, soon after they are made and soon after they end."""

import json

import httpx2

from app.auth.tokens import TokenTable, parse_token_table
from tests.support.cluster import Cluster, ClusterBuilder, client_of

ADMIN = "an-admin-token-0123456789"
HEARD_WITHIN_MS = 5_000


def table() -> TokenTable:
    entry = {"name": "admin", "token": ADMIN, "roles": ["admin"]}
    return parse_token_table(json.dumps({"tokens": [entry]}).encode())


def bearer(token: str = ADMIN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def is_known(client: httpx2.AsyncClient, token: str) -> bool:
    return (await client.get("/token", headers=bearer(token))).status_code == 200


def test_what_one_gateway_makes_and_ends_all_know_of() -> None:
    async def main(cluster: Cluster) -> None:
        first, second = await cluster.gateway(tokens=table()), await cluster.gateway(tokens=table())
        async with client_of(first) as here, client_of(second) as there:
            made = await here.post("/tokens", json={"name": "shop", "roles": ["producer"]}, headers=bearer())
            token = made.json()["token"]
            await cluster.until(lambda: second.metadata.tokens.find("shop"), patience_ms=HEARD_WITHIN_MS)
            assert await is_known(there, token)
            rotated = await there.post("/tokens/shop/rotate", json={"graceSeconds": 0}, headers=bearer())
            current = rotated.json()["token"]
            revision = second.metadata.revision
            await cluster.until(lambda: first.metadata.revision >= revision, patience_ms=HEARD_WITHIN_MS)
            assert not await is_known(here, token)
            assert await is_known(here, current)
            assert (await here.delete("/tokens/shop", headers=bearer())).status_code == 204
            await cluster.until(lambda: not len(second.metadata.tokens), patience_ms=HEARD_WITHIN_MS)
            assert not await is_known(there, current)
            assert await is_known(there, ADMIN), "those of the file go on"

    ClusterBuilder().nodes(1).run(main)


def test_a_gateway_that_starts_knows_what_is_there() -> None:
    async def main(cluster: Cluster) -> None:
        first = await cluster.gateway(tokens=table())
        async with client_of(first) as here:
            made = await here.post("/tokens", json={"name": "shop", "roles": ["producer"]}, headers=bearer())
        later = await cluster.gateway(tokens=TokenTable())
        async with client_of(later) as there:
            assert await is_known(there, made.json()["token"])
            assert not await is_known(there, ADMIN), "which is in another gateway's file"

    ClusterBuilder().nodes(1).run(main)
