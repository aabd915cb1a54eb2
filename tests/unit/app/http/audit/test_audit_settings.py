"""Who turns the audit log off is in it."""

from typing import Any

from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.http.audit.audited_world import ADMIN, audited_world, bearer, records_of


def tell(world: MemoryWorld, **settings: object) -> None:
    """As a reload does."""
    world.gateway.settings.adopt(settings)
    world.gateway.settings_listeners.tell()


async def changes_of(client: Any) -> list[dict[str, Any]]:
    found = [each for each in await records_of(client) if each["operation"] == "reload"]
    assert all(each["result"] == "allowed" and "principal" not in each for each in found)
    return [each["changed"] for each in found]


async def test_off_and_on_again(serve: Any) -> None:
    world = audited_world()
    async with serve(world) as client:
        tell(world, audit="off")
        assert await changes_of(client) == [{"audit": ["on", "off"]}]
        await client.put("/topics/unseen", headers=bearer(ADMIN))
        tell(world, audit="required")
        assert (await changes_of(client))[1:] == [{"audit": ["off", "required"]}]
        tell(world, audit="")
        tell(world, audit="on")
        assert (await changes_of(client))[2:] == [{"audit": ["required", "on"]}], "`on` is what it was without a word"


async def test_how_long_it_is_kept(serve: Any) -> None:
    world = audited_world(audit_retention_ms=5_000, audit_retention_bytes=-1)
    async with serve(world) as client:
        tell(world, audit_retention_ms=7_000, audit_retention_bytes=9)
        changed = {"audit_retention_ms": [5_000, 7_000], "audit_retention_bytes": [-1, 9]}
        assert await changes_of(client) == [changed]
        tell(world, partitions_default=3)
        assert await changes_of(client) == [changed], "what is nothing of the audit log's leaves no record"


async def test_while_it_is_off_nothing_is_recorded(serve: Any) -> None:
    world = audited_world(audit="off")
    async with serve(world) as client:
        tell(world, audit_retention_ms=7_000)
        assert await records_of(client) == []
        assert world.metadata.topic("__audit") is None
