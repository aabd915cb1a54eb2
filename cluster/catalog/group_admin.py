"""Creating, changing and deleting groups."""

import asyncio
from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import (
    CatalogChanger,
    CatalogSettings,
    NothingToWrite,
    Step,
    Write,
    check_name,
    not_found,
)
from cluster.catalog.known_by_all import KnownByAll
from cluster.catalog.namespace_room import NamespaceRoom
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.needed_protocol import PROTOCOL_OF_ALL_MODES, needed_by_group
from cluster.model.values import Group, GroupMode, GroupSettings, Pause, Tombstone
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    CoordinationError,
    CoordinationStore,
    Delete,
    KeyValue,
    Operation,
    Put,
    absent,
    unchanged,
)
from cluster.ports.entropy import Entropy

ChangePauses = Callable[[tuple[Pause, ...]], tuple[Pause, ...]]


class GroupAdmin:
    """Every call returns once the metadata view shows its effect, and raises ServerError: UNAVAILABLE, CONFLICT,
    OUTCOME_UNKNOWN, TIMED_OUT beside what it names.
    """

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._store = store
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or CatalogSettings()
        self._changer = CatalogChanger(store, metadata, clock, self._settings)
        self._known_by_all = KnownByAll(metadata, timeout_ms=self._settings.view_timeout_ms)
        self._one_creation = asyncio.Lock()  # so that the view's count is exact when it is checked

    async def create(self, name: str, *, mode: GroupMode, settings: GroupSettings) -> Group:
        """The group; the existing one, if it has the same mode and settings.

        Raises ServerError INVALID_NAME, GROUP_EXISTS (with other settings), TOO_MANY_GROUPS, NODES_TOO_OLD,
        NAMESPACE_NOT_FOUND, NAMESPACE_FULL.
        """
        group = await self.get_or_create(name, mode=mode, settings=settings)
        if (group.mode, group.settings) != (mode, settings):
            raise ServerError(ProblemCode.GROUP_EXISTS, f"The group {name!r} exists with another mode or settings.")
        return group

    async def get_or_create(
        self,
        name: str,
        *,
        mode: GroupMode,
        settings: GroupSettings,
        dead_letter_sources: tuple[str, ...] | None = None,
    ) -> Group:
        """The existing group, whatever its settings, or a new one. Raises as `create` does, but for GROUP_EXISTS."""
        known = self._metadata.group(name)
        if known is not None:
            return known
        check_name(name, "group")
        await self._known_by_all.require(
            needed_by_group(mode, settings), f"groups of mode {mode.value} with such settings"
        )
        wanted = Group(
            id=id_from_bits(self._entropy.bits64()),
            name=name,
            created_at_ms=self._clock.now_ms(),
            mode=mode,
            settings=settings,
            dead_letter_sources=dead_letter_sources,
        )
        found = wanted

        def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
            nonlocal found
            if item is not None:
                found = decode(Group, item.value)
                return NothingToWrite()
            found = wanted
            room = NamespaceRoom(name, entry, self._metadata)
            room.require_group()
            # Without the tombstone's compare, a second try could revive the id of a group that was created by the
            # first one and deleted since.
            return room.counted([absent(keys.group(name)), absent(keys.tombstone(wanted.id))], [_put(wanted)])

        async with self._one_creation:
            known = self._metadata.group(name)
            if known is not None:
                return known
            if len(self._metadata.groups()) >= self._settings.groups_max:
                raise ServerError(
                    ProblemCode.TOO_MANY_GROUPS, f"There are {self._settings.groups_max} groups already, the limit."
                )
            await self._changer.change_within(namespace_of(name), keys.group(name), decide)
        return found

    async def update(
        self,
        name: str,
        *,
        group_id: str | None = None,
        settings: GroupSettings | Callable[[GroupSettings], GroupSettings],
        dead_letter_sources: tuple[str, ...] | UnsetType | None = UNSET,
    ) -> Group:
        """The group with other settings; its mode never changes, its sources of dead letters only where they are given.
        A function gets the settings as they are stored when they are changed. With `group_id` only that one, and not
        another one that has its name now.

        Raises ServerError GROUP_NOT_FOUND (near names), and what the function raises.
        """
        updated: Group | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal updated
            group = None if item is None else decode(Group, item.value)
            if item is None or group is None or group_id not in (None, group.id):
                raise self._not_found(name)
            revised = settings if isinstance(settings, GroupSettings) else settings(group.settings)
            sources = group.dead_letter_sources if isinstance(dead_letter_sources, UnsetType) else dead_letter_sources
            updated = replace(group, settings=revised, dead_letter_sources=sources)
            if updated != group:
                self._known_by_all.check(needed_by_group(group.mode, revised), "groups with such settings")
            return NothingToWrite() if updated == group else _rewrite(item, updated)

        await self._changer.change(keys.group(name), decide)
        assert updated is not None
        return updated

    async def pause(self, name: str, change: ChangePauses) -> Group:
        """The group with more pauses; `change` gets them as they are stored when they are changed.

        Raises ServerError GROUP_NOT_FOUND (near names), NODES_TOO_OLD (some node would go on delivering), and what the
        function raises.
        """
        await self._known_by_all.require(PROTOCOL_OF_ALL_MODES, "pauses of groups")
        return await self.resume(name, change)

    async def resume(self, name: str, change: ChangePauses) -> Group:
        """As `pause`, but for NODES_TOO_OLD: who does not know of pauses delivers already."""
        changed: Group | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal changed
            if item is None:
                raise self._not_found(name)
            group = decode(Group, item.value)
            changed = replace(group, pauses=change(group.pauses))
            return NothingToWrite() if changed == group else _rewrite(item, changed)

        await self._changer.change(keys.group(name), decide)
        assert changed is not None
        return changed

    async def delete(self, name: str, *, group_id: str | None = None) -> None:
        """Delete the group with its projected offsets, and leave its tombstone (rule R13). With `group_id` only that
        one, and nothing where it is gone, also where another one has its name now.

        Raises ServerError GROUP_NOT_FOUND (with near names).
        """
        target_id = group_id

        def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
            nonlocal target_id
            found_id = None if item is None else decode(Group, item.value).id
            target_id = target_id or found_id
            if target_id is None:
                raise self._not_found(name)
            if item is None or found_id != target_id:
                return NothingToWrite()
            tombstone = Tombstone(target_id, name, self._clock.now_ms())
            operations: list[Operation] = [Delete(item.key), Put(keys.tombstone(target_id), encode(tombstone))]
            return NamespaceRoom(name, entry, self._metadata).counted([unchanged(item)], operations)

        await self._changer.change_within(namespace_of(name), keys.group(name), decide)
        assert target_id is not None
        await self._delete_offsets(target_id)

    async def _delete_offsets(self, group_id: str) -> None:
        """The group is gone already; what cannot be deleted now is the controller's to clean up."""
        try:
            items = (await self._store.list(keys.offsets_of(group_id))).items
            for first in range(0, len(items), MAX_TRANSACTION_OPERATIONS):
                chunk = items[first : first + MAX_TRANSACTION_OPERATIONS]
                await self._store.transact([], [Delete(item.key) for item in chunk])
        except CoordinationError:
            return

    def _not_found(self, name: str) -> ServerError:
        names = [group.name for group in self._metadata.groups()]
        return not_found(ProblemCode.GROUP_NOT_FOUND, "group", name, names)


def _rewrite(item: KeyValue, group: Group) -> Write:
    return Write([unchanged(item)], [Put(item.key, encode_instead(group, item.value))])


def _put(group: Group) -> Put:
    return Put(keys.group(group.name), encode(group))
