"""Redrive jobs in the coordination store: made, cancelled, and noted as over."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogChanger, CatalogSettings, NothingToWrite, Step, Write
from cluster.catalog.known_by_all import KnownByAll
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.needed_protocol import PROTOCOL_OF_REDRIVES
from cluster.model.redrives import RedriveJob, RedrivePart, is_over
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


class RedriveAdmin:
    """Every call raises ServerError: UNAVAILABLE, CONFLICT, OUTCOME_UNKNOWN, TIMED_OUT beside what it names. Changes
    show in the metadata view when their call returns."""

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

    async def create(self, wanted: RedriveJob) -> RedriveJob:
        """The job, with an id and the time. One without letters is over from the start. The oldest that is over gives
        way where there are too many. Raises ServerError REDRIVE_UNDER_WAY (with its `jobId`: two would send a letter
        twice), TOO_MANY_REDRIVES, NODES_TOO_OLD (some leader would let its letters lie)."""
        await self._known_by_all.require(PROTOCOL_OF_REDRIVES, "redrive jobs")
        now_ms = self._clock.now_ms()
        job_id = id_from_bits(self._entropy.bits64())
        job = replace(wanted, id=job_id, created_at_ms=now_ms, finished_at_ms=-1 if wanted.ranges else now_ms)
        key, last_key = keys.redrive(job.group_id, job.id), keys.redrive_topic(job.group_id, job.topic_id)
        async with self._one_creation:
            last = await self._changer.read(last_key)
            if last is not None:
                await self._refuse_if_under_way(job.group_id, last.value.decode())
            leaving = self._leaving(job)
            item = None if leaving is None else await self._changer.read(keys.redrive(leaving.group_id, leaving.id))

            def decide(found: KeyValue | None) -> Step:
                if found is not None:
                    return NothingToWrite()
                operations: list[Operation] = [Put(key, encode(job)), Put(last_key, job_id.encode())]
                is_alone = absent(last_key) if last is None else unchanged(last)
                return Write([absent(key), is_alone], operations if item is None else [*operations, Delete(item.key)])

            await self._changer.change(key, decide)
        if leaving is not None:
            await self._delete_parts(leaving)
        return job

    async def cancel(self, group_id: str, job_id: str) -> RedriveJob:
        """Nothing more is begun of it; what is under way is finished. One that is over stays as it was. Raises
        ServerError REDRIVE_NOT_FOUND."""
        return await self._change(group_id, job_id, self._cancelled)

    async def note_if_over(self, job: RedriveJob) -> None:
        """To be called when a part of it is."""

        def finished(found: RedriveJob) -> RedriveJob:
            is_noted = found.is_finished or not is_over(found, parts)
            return found if is_noted else replace(found, finished_at_ms=self._clock.now_ms())

        parts = await self.parts(job)
        await self._change(job.group_id, job.id, finished)

    async def parts(self, job: RedriveJob) -> dict[int, RedrivePart]:
        """How far the job is, by partition, where something is noted of it."""
        prefix = keys.redrive_parts_of(job.id)
        try:
            items = (await self._store.list(prefix)).items
        except CoordinationError as error:
            detail = f"how far the job is cannot be read now: {error}"
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=1000) from error
        return {int(item.key.removeprefix(prefix)): decode(RedrivePart, item.value) for item in items}

    def _cancelled(self, job: RedriveJob) -> RedriveJob:
        is_past = job.is_finished or job.is_cancelled
        return job if is_past else replace(job, cancelled_at_ms=self._clock.now_ms())

    async def _change(self, group_id: str, job_id: str, change: Callable[[RedriveJob], RedriveJob]) -> RedriveJob:
        changed: RedriveJob | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal changed
            if item is None:
                raise ServerError(ProblemCode.REDRIVE_NOT_FOUND, f"the group has no redrive job {job_id!r}")
            job = decode(RedriveJob, item.value)
            changed = change(job)
            if changed == job:
                return NothingToWrite()
            return Write([unchanged(item)], [Put(item.key, encode_instead(changed, item.value))])

        await self._changer.change(keys.redrive(group_id, job_id), decide)
        assert changed is not None
        return changed

    async def _refuse_if_under_way(self, group_id: str, job_id: str) -> None:
        item = await self._changer.read(keys.redrive(group_id, job_id))
        if item is not None and not decode(RedriveJob, item.value).is_finished:
            detail = f"The job {job_id} is not over: cancel it, or wait until it is done."
            raise ServerError(ProblemCode.REDRIVE_UNDER_WAY, detail, extra={"jobId": job_id})

    def _leaving(self, job: RedriveJob) -> RedriveJob | None:
        """Who gives way to the job, if somebody has to: what nobody can see any more goes first."""
        jobs = self._metadata.redrives.all()
        of_group = [each for each in jobs if each.group_id == job.group_id]
        for those, limit in ((of_group, self._settings.redrives_of_group_max), (jobs, self._settings.redrives_max)):
            if len(those) < limit:
                continue
            over = [each for each in those if each.is_finished or self._is_orphan(each)]
            if not over:
                detail = f"There are {len(those)} redrive jobs already that are not over, the limit."
                raise ServerError(ProblemCode.TOO_MANY_REDRIVES, detail)
            return min(over, key=lambda each: (not self._is_orphan(each), each.created_at_ms))
        return None

    def _is_orphan(self, job: RedriveJob) -> bool:
        metadata = self._metadata
        return metadata.topic_by_id(job.topic_id) is None or metadata.group_by_id(job.group_id) is None

    async def _delete_parts(self, job: RedriveJob) -> None:
        """What cannot be deleted now is a few hundred bytes that nobody reads."""
        try:
            items = (await self._store.list(keys.redrive_parts_of(job.id))).items
            for first in range(0, len(items), MAX_TRANSACTION_OPERATIONS):
                chunk = items[first : first + MAX_TRANSACTION_OPERATIONS]
                await self._store.transact([], [Delete(item.key) for item in chunk])
        except CoordinationError:
            return
