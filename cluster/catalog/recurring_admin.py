"""Making, changing and removing recurring schedules in the coordination store."""

import asyncio
from collections.abc import Callable

from acklog.wire.identifiers import id_from_bits, parse_schedule_id
from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import (
    CatalogChanger,
    CatalogSettings,
    NothingToWrite,
    Step,
    Write,
    check_plain_name,
    not_found,
)
from cluster.catalog.known_by_all import KnownByAll
from cluster.catalog.namespace_room import NamespaceRoom
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.needed_protocol import PROTOCOL_OF_RECURRING
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.model.values import Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Delete, KeyValue, Put, absent, unchanged
from cluster.ports.entropy import Entropy


class RecurringAdmin:
    """Every call returns once the metadata view shows its effect, and raises ServerError: UNAVAILABLE, CONFLICT,
    OUTCOME_UNKNOWN, TIMED_OUT beside what it names."""

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or CatalogSettings()
        self._changer = CatalogChanger(store, metadata, clock, self._settings)
        self._known_by_all = KnownByAll(metadata, timeout_ms=self._settings.view_timeout_ms)
        self._one_creation = asyncio.Lock()  # so that the view's count is exact when it is checked

    async def get_or_create(
        self, topic: Topic, name: str, make: Callable[[str, int], RecurringSchedule]
    ) -> tuple[RecurringSchedule, bool]:
        """The schedule of that name, and whether it was made just now: of an id, at a time.

        Raises ServerError INVALID_NAME, TOO_MANY_SCHEDULES, NAMESPACE_FULL, NODES_TOO_OLD (some node would never send
        it).
        """
        check_plain_name(name, "schedule")
        if parse_schedule_id(name) is not None:
            raise ServerError(ProblemCode.INVALID_NAME, "That is the id of a scheduled message.", field="name")
        await self._known_by_all.require(PROTOCOL_OF_RECURRING, "recurring schedules")
        key = keys.recurring(topic.id, name)
        made_id = id_from_bits(self._entropy.bits64())
        found: RecurringSchedule | None = None
        async with self._one_creation:

            def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
                nonlocal found
                if item is not None:
                    found = decode(RecurringSchedule, item.value)
                    return NothingToWrite()
                room = NamespaceRoom(topic.name, entry, self._metadata)
                room.require_schedule()
                self._check_room()
                found = make(made_id, self._clock.now_ms())
                return room.counted([absent(key)], [Put(key, encode(found))])

            await self._changer.change_within(namespace_of(topic.name), key, decide)
        assert found is not None
        return found, found.id == made_id

    async def update(
        self, topic: Topic, name: str, revise: Callable[[RecurringSchedule, int], RecurringSchedule]
    ) -> RecurringSchedule:
        """The schedule as `revise` makes of the present one, at a time. Raises ServerError SCHEDULE_NOT_FOUND, and what
        `revise` raises."""
        key = keys.recurring(topic.id, name)
        found: RecurringSchedule | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal found
            if item is None:
                raise self.no_such(topic, name)
            before = decode(RecurringSchedule, item.value)
            found = revise(before, self._clock.now_ms())
            if found == before:
                return NothingToWrite()
            return Write([unchanged(item)], [Put(key, encode_instead(found, item.value))])

        await self._changer.change(key, decide)
        assert found is not None
        return found

    async def delete(self, topic: Topic, name: str) -> None:
        """It need not be there: to ask again is fine. Raises ServerError INVALID_NAME."""
        check_plain_name(name, "schedule")
        key = keys.recurring(topic.id, name)

        def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
            if item is None:
                return NothingToWrite()
            return NamespaceRoom(topic.name, entry, self._metadata).counted([unchanged(item)], [Delete(key)])

        await self._changer.change_within(namespace_of(topic.name), key, decide)

    def no_such(self, topic: Topic, name: str) -> ServerError:
        names = [each.name for each in self._metadata.recurring.of_topic(topic.id)]
        return not_found(ProblemCode.SCHEDULE_NOT_FOUND, "schedule", name, names)

    def _check_room(self) -> None:
        if len(self._metadata.recurring) >= self._settings.recurring_max:
            detail = "The cluster has no room for another recurring schedule."
            raise ServerError(ProblemCode.TOO_MANY_SCHEDULES, detail, field="name")
