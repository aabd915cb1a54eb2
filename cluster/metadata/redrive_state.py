"""The redrive jobs as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.redrives import RedriveJob
from cluster.ports.coordination import Changed, Event, KeyValue, key_of


class RedriveState:
    """`undecodable` has the keys whose values are not understood (a newer version's): these jobs are unknown."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._by_key: dict[str, RedriveJob] = {}
        for item in items:
            self.apply(Changed(item))

    def find(self, group_id: str, job_id: str) -> RedriveJob | None:
        return self._by_key.get(keys.redrive(group_id, job_id))

    def all(self) -> list[RedriveJob]:
        """The oldest first."""
        return sorted(self._by_key.values(), key=lambda job: (job.created_at_ms, job.id))

    def unfinished(self) -> list[RedriveJob]:
        """In no order."""
        return [job for job in self._by_key.values() if not job.is_finished]

    def __len__(self) -> int:
        return len(self._by_key)

    def apply(self, event: Event) -> bool:
        """Whether the event concerned a job."""
        key = key_of(event)
        if not key.startswith(keys.REDRIVES):
            return False
        self.undecodable.pop(key, None)
        self._by_key.pop(key, None)
        if isinstance(event, Changed):
            try:
                self._by_key[key] = decode(RedriveJob, event.item.value)
            except (msgspec.DecodeError, ValueError) as error:
                self.undecodable[key] = str(error)
        return True
