"""How far a redrive job is in a partition, in the coordination store."""

from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.redrives import LetterRange, RedriveJob, RedrivePart
from cluster.ports.coordination import (
    Compare,
    CompareTarget,
    CoordinationStore,
    KeyValue,
    Put,
    absent,
    unchanged,
)
from storage.redrive.ports import SupersededError


class StoredNotes:
    """See `storage.redrive.ports.Notes`. Raises CoordinationError, too: a write may have been done then."""

    def __init__(self, store: CoordinationStore, job: RedriveJob, part: LetterRange) -> None:
        self._store = store
        self._start = part.start
        self._job_key = keys.redrive(job.group_id, job.id)
        self._key = keys.redrive_part(job.id, part.partition)
        self._job: KeyValue | None = None
        self._written: KeyValue | None = None

    async def read(self) -> RedrivePart:
        self._job = await self._store.get(self._job_key)
        self._written = await self._store.get(self._key)
        return RedrivePart(self._start) if self._written is None else decode(RedrivePart, self._written.value)

    async def write(self, part: RedrivePart) -> None:
        """Nothing is left behind of a job that is gone."""
        if self._job is None:
            raise SupersededError
        is_there = Compare(self._job_key, CompareTarget.CREATE_REVISION, self._job.create_revision)
        is_ours = absent(self._key) if self._written is None else unchanged(self._written)
        value = encode(part)
        result = await self._store.transact([is_there, is_ours], [Put(self._key, value)])
        if not result.succeeded:
            raise SupersededError
        before = self._written
        self._written = KeyValue(
            key=self._key,
            value=value,
            create_revision=result.revision if before is None else before.create_revision,
            mod_revision=result.revision,
            version=1 if before is None else before.version + 1,
        )
