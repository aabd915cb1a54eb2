"""Making, changing and deleting namespaces."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.names import in_namespace, namespace_fault
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogChanger, CatalogSettings, NothingToWrite, Step, Write
from cluster.catalog.known_by_all import KnownByAll
from cluster.catalog.namespace_room import NamespaceRoom, no_namespace
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.namespace import Namespace, NamespaceSettings
from cluster.model.needed_protocol import PROTOCOL_OF_NAMESPACES
from cluster.model.values import Tombstone
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Delete, KeyValue, Put, absent, unchanged
from cluster.ports.entropy import Entropy


class NamespaceAdmin:
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

    async def get_or_create(self, name: str, settings: NamespaceSettings) -> tuple[Namespace, bool]:
        """The namespace that there is, whatever its settings, or a new one; True when it was made.

        Raises ServerError INVALID_NAME, TOO_MANY_NAMESPACES, NODES_TOO_OLD (one that would let letters and
        subscriptions out of it).
        """
        _check_name(name)
        await self._known_by_all.require(PROTOCOL_OF_NAMESPACES, "namespaces")
        wanted = Namespace(id_from_bits(self._entropy.bits64()), name, self._clock.now_ms(), settings)
        found = wanted
        key = keys.namespace(name)

        def decide(item: KeyValue | None) -> Step:
            nonlocal found
            if item is not None:
                found = decode(Namespace, item.value)
                return NothingToWrite()
            found = wanted
            self._check_room()
            # Without the tombstone's compare, a second try could revive one that was made by the first and deleted.
            return Write([absent(key), absent(keys.tombstone(wanted.id))], [Put(key, encode(wanted))])

        async with self._one_creation:
            await self._changer.change(key, decide)
        return found, found.id == wanted.id

    async def update(self, name: str, revise: Callable[[NamespaceSettings], NamespaceSettings]) -> Namespace:
        """The namespace with other settings: `revise` gets them as they are stored when they are changed. Limits may be
        below what there is already: nothing goes, and nothing more comes. Raises ServerError NAMESPACE_NOT_FOUND."""
        _check_name(name)
        updated: Namespace | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal updated
            if item is None:
                raise no_namespace(name)
            namespace = decode(Namespace, item.value)
            updated = replace(namespace, settings=revise(namespace.settings))
            if updated == namespace:
                return NothingToWrite()
            return Write([unchanged(item)], [Put(item.key, encode_instead(updated, item.value))])

        await self._changer.change(keys.namespace(name), decide)
        assert updated is not None
        return updated

    async def delete(self, name: str) -> None:
        """Raises ServerError NAMESPACE_NOT_FOUND, NAMESPACE_NOT_EMPTY."""
        _check_name(name)
        target_id = ""

        def decide(_item: KeyValue | None, entry: KeyValue | None) -> Step:
            nonlocal target_id
            found_id = "" if entry is None else decode(Namespace, entry.value).id
            target_id = target_id or found_id
            if not target_id:
                raise no_namespace(name)
            if entry is None or found_id != target_id:
                return NothingToWrite()
            NamespaceRoom(in_namespace(name, ""), entry, self._metadata).require_empty()
            tombstone = Tombstone(target_id, name, self._clock.now_ms())
            return Write([unchanged(entry)], [Delete(entry.key), Put(keys.tombstone(target_id), encode(tombstone))])

        await self._changer.change_within(name, keys.namespace(name), decide)

    def _check_room(self) -> None:
        if len(self._metadata.namespaces) >= self._settings.namespaces_max:
            detail = f"There are {self._settings.namespaces_max} namespaces already, the limit."
            raise ServerError(ProblemCode.TOO_MANY_NAMESPACES, detail, field="namespace")


def _check_name(name: str) -> None:
    fault = namespace_fault(name)
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_NAME, f"The name of the namespace {fault}.", field="namespace")
