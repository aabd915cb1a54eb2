"""How topics and groups are changed in the coordination store: read, decide, compare-and-set, and see it in the view.

A write whose outcome is unknown is settled by reading back (rule R18). `decide` is therefore asked anew on every round
and must recognise its own earlier write, and every write is guarded so that it cannot take effect twice.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acklog.wire.names import NO_NAMESPACE, full_name_fault, name_fault
from acklog.wire.problems import ProblemCode
from cluster.backoff import Backoff
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.near_names import near_names
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    Compare,
    CoordinationFullError,
    CoordinationStore,
    CoordinationUnavailableError,
    KeyValue,
    Operation,
    OutcomeUnknownError,
)


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """Limits of one cluster's catalogue, and of the patience of one change."""

    topics_max: int = 10_000
    groups_max: int = 10_000
    partitions_max: int = 20_000
    """Of all topics together."""

    producers_max: int = 10_000
    """Named producers, of all topics together. With one more, the longest unused gives way."""

    producer_expiry_ms: int = 7 * 24 * 60 * 60 * 1000
    """How long a named producer must have been unused to give way to another one."""

    producer_use_ms: int = 60 * 60 * 1000
    """How exactly it is known when a producer was last used: a write so often at most."""

    redrives_max: int = 1_000
    """Redrive jobs that are kept, of all groups together. With one more, the oldest that is over gives way."""

    redrives_of_group_max: int = 100
    """Of one group."""

    recurring_max: int = 10_000
    """Recurring schedules, of all topics together."""

    tokens_max: int = 10_000
    """Stored tokens, those that have expired among them."""

    namespaces_max: int = 1_000

    queues_max: int = 10_000
    """Queues of SQS. With one more, one gives way whose topic is gone."""

    attempts_max: int = 10
    """Rounds of read, decide and compare-and-set."""

    backoff: Backoff = field(default_factory=lambda: Backoff(first_ms=20, max_ms=1000))
    """Before the next round, when the outcome of the last one is unknown."""

    view_timeout_ms: int = 10_000
    """How long a change may take to show in the metadata view."""


@dataclass(frozen=True, slots=True)
class Write:
    compares: Sequence[Compare]
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class NothingToWrite:
    """There is nothing (more) to write."""


Step = Write | NothingToWrite

DecideWithin = Callable[[KeyValue | None, KeyValue | None], Step]
"""Gets what there is of a key, and of its namespace."""


class CatalogChanger:
    def __init__(
        self, store: CoordinationStore, metadata: MetadataView, clock: Clock, settings: CatalogSettings
    ) -> None:
        self._store = store
        self._metadata = metadata
        self._clock = clock
        self._settings = settings

    async def change(self, key: str, decide: Callable[[KeyValue | None], Step]) -> None:
        """Do what `decide` says about the key; returns once the metadata view shows it.

        Raises ServerError: what `decide` raises, CONFLICT, OUTCOME_UNKNOWN, UNAVAILABLE (nothing was done), TIMED_OUT
        (it was done, but does not show yet).
        """
        await self.change_within(NO_NAMESPACE, key, lambda item, _entry: decide(item))

    async def change_within(self, namespace: str, key: str, decide: DecideWithin) -> None:
        """As `change`, of what counts in a namespace. The view shows all that was there when the namespace's entry was
        written last, whenever `decide` is asked."""
        await self._show(await self._settle(namespace, key, decide))

    async def read(self, key: str) -> KeyValue | None:
        """As the store has it. Raises ServerError UNAVAILABLE."""
        try:
            return await self._store.get(key)
        except CoordinationUnavailableError as error:
            raise _unavailable(error) from error

    async def read_shown(self, key: str) -> KeyValue | None:
        """As `read`, once the view shows what there was when it was written. Raises ServerError UNAVAILABLE, and
        TIMED_OUT."""
        item = await self.read(key)
        if item is not None:
            await self._show(item.mod_revision)
        return item

    async def _settle(self, namespace: str, key: str, decide: DecideWithin) -> int:
        """The revision from which on the change shows."""
        unknown_rounds = 0
        for _ in range(self._settings.attempts_max):
            try:
                item = await self._store.get(key)
                step = decide(item, await self._entry(namespace))
                if isinstance(step, NothingToWrite):
                    return item.mod_revision if item is not None else (await self._store.list(key)).revision
                result = await self._store.transact(step.compares, step.operations)
            except OutcomeUnknownError:
                unknown_rounds += 1
            except CoordinationUnavailableError as error:
                if not unknown_rounds:
                    raise _unavailable(error) from error
                unknown_rounds += 1
            else:
                if result.succeeded:
                    return result.revision
                continue
            await self._clock.sleep(self._settings.backoff.delay_ms(unknown_rounds))
        if unknown_rounds:
            raise ServerError(ProblemCode.OUTCOME_UNKNOWN, "The coordination store did not say whether it was done.")
        raise ServerError(ProblemCode.CONFLICT, f"Others changed it {self._settings.attempts_max} times meanwhile.")

    async def _entry(self, namespace: str) -> KeyValue | None:
        entry = await self._store.get(keys.namespace(namespace)) if namespace else None
        if entry is not None:
            try:
                async with asyncio.timeout(self._settings.view_timeout_ms / 1000):
                    await self._metadata.wait_for(entry.mod_revision)
            except TimeoutError as error:
                raise CoordinationUnavailableError("what there is in the namespace does not show yet") from error
        return entry

    async def _show(self, revision: int) -> None:
        try:
            async with asyncio.timeout(self._settings.view_timeout_ms / 1000):
                await self._metadata.wait_for(revision)
        except TimeoutError as error:
            raise ServerError(ProblemCode.TIMED_OUT, "The change is stored, but does not show yet.") from error
        except CoordinationUnavailableError as error:
            raise _unavailable(error) from error


def check_name(name: str, what: str) -> None:
    """Of a topic or a group. Raises ServerError INVALID_NAME."""
    _refuse(full_name_fault(name), what)


def check_plain_name(name: str, what: str) -> None:
    """Of what is in no namespace by itself. Raises ServerError INVALID_NAME."""
    _refuse(name_fault(name), what)


def _refuse(fault: str | None, what: str) -> None:
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_NAME, f"The name of the {what} {fault}.", field="name")


def not_found(code: ProblemCode, what: str, name: str, names: Sequence[str]) -> ServerError:
    """Names what the caller may have meant."""
    near = near_names(name, names)
    hint = f" Similar: {', '.join(near)}." if near else ""
    return ServerError(code, f"There is no {what} {name!r}.{hint}", extra={"near": near})


def _unavailable(error: CoordinationUnavailableError) -> ServerError:
    if isinstance(error, CoordinationFullError):
        return ServerError(ProblemCode.STORAGE_FULL, f"Topics and groups: {error}.", retry_after_ms=1000)
    return ServerError(
        ProblemCode.UNAVAILABLE, f"The coordination store cannot do it now: {error}.", retry_after_ms=1000
    )
