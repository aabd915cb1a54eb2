import asyncio

import msgspec
import pytest
from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.group_admin import GroupAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.needed_protocol import (
    PROTOCOL_OF_ALL_MODES,
    PROTOCOL_OF_ENDLESS_RETRIES,
    PROTOCOL_OF_FAIR_HEADERS,
    PROTOCOL_OF_RETRIES,
)
from cluster.model.values import Exhausted, Group, GroupMode, GroupSettings, NodeRegistration, Tombstone
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError, Put
from tests.unit.cluster.conftest import Catalogue

SETTINGS = GroupSettings()


async def create(groups: GroupAdmin, name: str = "billing", settings: GroupSettings = SETTINGS) -> Group:
    return await groups.create(name, mode=GroupMode.SHARED, settings=settings)


async def refuse(code: ProblemCode, call: object) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code is code
    return caught.value


async def test_a_created_group_shows_at_once(catalogue: Catalogue) -> None:
    group = await create(catalogue.groups())
    assert group == Group(id_from_bits(1), "billing", catalogue.clock.now_ms(), GroupMode.SHARED, SETTINGS)
    assert catalogue.metadata.group("billing") == group


async def test_creating_again_is_fine_with_the_same_settings_only(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    group = await create(groups)
    assert await create(groups) == group
    await refuse(ProblemCode.GROUP_EXISTS, create(groups, settings=GroupSettings(max_attempts=3)))
    await refuse(ProblemCode.GROUP_EXISTS, groups.create("billing", mode=GroupMode.EXCLUSIVE, settings=SETTINGS))
    assert await groups.get_or_create("billing", mode=GroupMode.EXCLUSIVE, settings=SETTINGS) == group


async def test_bad_names(catalogue: Catalogue) -> None:
    for name in ("", "a/b/c", "/b", "a/", "a/__b", "__internal"):
        await refuse(ProblemCode.INVALID_NAME, create(catalogue.groups(), name))


async def test_many_creations_of_one_name_make_one_group(catalogue: Catalogue) -> None:
    found = await asyncio.gather(*(create(groups) for groups in (catalogue.groups(), catalogue.groups()) * 5))
    assert len({group.id for group in found}) == 1


async def test_update_changes_the_settings_and_nothing_else(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    group = await create(groups)
    wanted = GroupSettings(visibility_ms=5)
    updated = await groups.update("billing", settings=wanted)
    assert updated == Group(group.id, group.name, group.created_at_ms, group.mode, wanted)
    assert catalogue.metadata.group_by_id(group.id) == updated
    revision = catalogue.metadata.revision
    assert await groups.update("billing", settings=wanted) == updated
    assert catalogue.metadata.revision == revision


async def test_a_setting_of_a_newer_version_outlives_an_update(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    group = await create(groups)
    newer = encode(group).replace(b'"maxAttempts"', b'"colour":"a","maxAttempts"')
    await catalogue.store.transact([], [Put(keys.group("billing"), newer)])
    await groups.update("billing", settings=GroupSettings(visibility_ms=5))
    item = await catalogue.store.get(keys.group("billing"))
    assert item is not None
    assert decode(Group, item.value).settings == GroupSettings(visibility_ms=5)
    assert msgspec.json.decode(item.value)["settings"]["colour"] == "a"


async def register(catalogue: Catalogue, *nodes: NodeRegistration) -> None:
    await catalogue.store.transact([], [Put(keys.node(node.node_id), encode(node)) for node in nodes])


@pytest.mark.parametrize("mode", [GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE])
async def test_a_mode_waits_until_every_node_knows_it(catalogue: Catalogue, mode: GroupMode) -> None:
    groups = catalogue.groups()
    known = NodeRegistration(1, 1, "a", "", newest_protocol=PROTOCOL_OF_ALL_MODES)
    earlier = [NodeRegistration(node_id, 1, "b", "") for node_id in (2, 3)]
    await register(catalogue, known, *earlier)
    refused = await refuse(ProblemCode.NODES_TOO_OLD, groups.create("billing", mode=mode, settings=SETTINGS))
    assert refused.extra == {"nodes": [2, 3], "neededProtocol": PROTOCOL_OF_ALL_MODES}
    assert "upgrade" in refused.detail
    assert await catalogue.store.get(keys.group("billing")) is None
    assert (await create(groups, "shared")).mode is GroupMode.SHARED
    await register(catalogue, *(replace(node, newest_protocol=PROTOCOL_OF_ALL_MODES) for node in earlier))
    assert (await groups.create("billing", mode=mode, settings=SETTINGS)).mode is mode


@pytest.mark.parametrize("settings", [GroupSettings(retry_delays_ms=(1,)), GroupSettings(retry_jitter=0.0)])
async def test_delays_of_retries_wait_until_every_node_knows_them(
    catalogue: Catalogue, settings: GroupSettings
) -> None:
    groups = catalogue.groups()
    earlier = NodeRegistration(1, 1, "a", "", newest_protocol=PROTOCOL_OF_RETRIES - 1)
    await register(catalogue, earlier)
    existing = await create(groups)
    await refuse(ProblemCode.NODES_TOO_OLD, groups.update("billing", settings=settings))
    await refuse(ProblemCode.NODES_TOO_OLD, create(groups, "other", settings))
    assert await create(groups) == existing
    await register(catalogue, replace(earlier, newest_protocol=PROTOCOL_OF_RETRIES))
    assert (await create(groups, "other", settings)).settings == settings
    assert (await groups.update("billing", settings=settings)).settings == settings


async def test_endless_retries_wait_until_every_node_knows_them(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    earlier = NodeRegistration(1, 1, "a", "", newest_protocol=PROTOCOL_OF_ENDLESS_RETRIES - 1)
    await register(catalogue, earlier)
    existing = await create(groups)
    settings = GroupSettings(on_exhausted=Exhausted.RETRY)
    refused = await refuse(ProblemCode.NODES_TOO_OLD, groups.update("billing", settings=settings))
    assert refused.extra == {"nodes": [1], "neededProtocol": PROTOCOL_OF_ENDLESS_RETRIES}
    await refuse(ProblemCode.NODES_TOO_OLD, create(groups, "other", settings))
    assert await create(groups) == existing
    await register(catalogue, replace(earlier, newest_protocol=PROTOCOL_OF_ENDLESS_RETRIES))
    assert (await create(groups, "other", settings)).settings == settings
    assert (await groups.update("billing", settings=settings)).settings == settings


async def test_fairness_by_a_header_waits_until_every_node_knows_it(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    earlier = NodeRegistration(1, 1, "a", "", newest_protocol=PROTOCOL_OF_FAIR_HEADERS - 1)
    await register(catalogue, earlier)
    existing = await create(groups)
    settings = GroupSettings(fair_by_header="tenant")
    refused = await refuse(ProblemCode.NODES_TOO_OLD, groups.update("billing", settings=settings))
    assert refused.extra == {"nodes": [1], "neededProtocol": PROTOCOL_OF_FAIR_HEADERS}
    await refuse(ProblemCode.NODES_TOO_OLD, create(groups, "other", settings))
    assert await create(groups) == existing
    await register(catalogue, replace(earlier, newest_protocol=PROTOCOL_OF_FAIR_HEADERS))
    assert (await create(groups, "other", settings)).settings == settings
    assert (await groups.update("billing", settings=settings)).settings == settings


async def test_a_mode_waits_for_the_store_to_say_who_is_registered(catalogue: Catalogue) -> None:
    catalogue.store.before["list"] = [CoordinationUnavailableError("away")]
    creating = catalogue.groups().create("billing", mode=GroupMode.EXCLUSIVE, settings=SETTINGS)
    await refuse(ProblemCode.UNAVAILABLE, creating)


async def test_the_sources_of_dead_letters_change_where_they_are_given(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    group = await create(groups)
    restricted = await groups.update("billing", settings=SETTINGS, dead_letter_sources=("a.*",))
    assert restricted == msgspec.structs.replace(group, dead_letter_sources=("a.*",))
    wanted = GroupSettings(visibility_ms=5)
    assert await groups.update("billing", settings=wanted) == msgspec.structs.replace(restricted, settings=wanted)
    assert await groups.update("billing", settings=SETTINGS, dead_letter_sources=None) == group


async def test_missing_groups_come_with_near_names(catalogue: Catalogue) -> None:
    groups = catalogue.groups()
    await create(groups)
    for call in (groups.update("biling", settings=SETTINGS), groups.delete("biling")):
        assert (await refuse(ProblemCode.GROUP_NOT_FOUND, call)).extra["near"] == ["billing"]


async def test_delete_takes_its_offsets_along_and_leaves_a_tombstone(catalogue: Catalogue) -> None:
    groups, store = catalogue.groups(), catalogue.store
    group, other = await create(groups), await create(groups, "other")
    for number in range(300):
        await store.transact([], [Put(keys.offsets(group.id, f"topic{number}"), b"")])
    await store.transact([], [Put(keys.offsets(other.id, "topic1"), b"")])
    await groups.delete("billing")
    assert catalogue.metadata.group("billing") is None
    assert [item.key for item in (await store.list(keys.OFFSETS)).items] == [keys.offsets(other.id, "topic1")]
    item = await store.get(keys.tombstone(group.id))
    assert item is not None
    assert decode(Tombstone, item.value).name == "billing"
    assert (await create(groups)).id != group.id


async def test_a_store_that_fails_between_leaves_the_offsets_to_the_controller(catalogue: Catalogue) -> None:
    groups, store = catalogue.groups(), catalogue.store
    group = await create(groups)
    await store.transact([], [Put(keys.offsets(group.id, "t"), b"")])
    store.before["list"] = [CoordinationUnavailableError("down")]
    await groups.delete("billing")
    assert catalogue.metadata.group("billing") is None
    assert len((await store.list(keys.OFFSETS)).items) == 1


async def test_unknown_outcomes_are_read_back(catalogue: Catalogue) -> None:
    groups, store = catalogue.groups(), catalogue.store
    store.after["transact"] = [OutcomeUnknownError("?")]
    creating = asyncio.ensure_future(create(groups))
    await catalogue.clock.advance_ms(20)
    assert (await creating).id == id_from_bits(1)
    store.after["transact"] = [OutcomeUnknownError("?")]
    deleting = asyncio.ensure_future(groups.delete("billing"))
    await catalogue.clock.advance_ms(20)
    await deleting
    assert catalogue.metadata.groups() == []


async def test_the_limit_on_groups(catalogue: Catalogue) -> None:
    groups = catalogue.groups(CatalogSettings(groups_max=2))
    outcomes = await asyncio.gather(*(create(groups, f"g{each}") for each in range(4)), return_exceptions=True)
    assert sum(isinstance(outcome, Group) for outcome in outcomes) == 2
    error = await refuse(ProblemCode.TOO_MANY_GROUPS, create(groups, "more"))
    assert "2" in error.detail
    await groups.delete("g0")
    await create(groups, "more")
