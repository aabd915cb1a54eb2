"""What is still to be done about data keys, and whose turn it is; sans-IO.

Keys come to be known one after the other, each by a question to who has the master key, which may take its time, fail,
or never be answered. So what is needed for serving at all comes first, whatever failed comes behind what did not, and
later each time.
"""

import heapq
from dataclasses import dataclass

from cluster.backoff import Backoff

WHOLE_TOPIC = 0
"""In the place of a key's number: keys of the topic that are to be made, or wrapped anew."""


@dataclass(frozen=True, slots=True)
class KeyJob:
    """To unwrap a topic's data key of this number, from 1 on; or WHOLE_TOPIC."""

    topic_id: str
    number: int


class KeyJobs:
    """Who takes a job brings it to `done`, `wait` or `fail`, and nobody else has it meanwhile. Times are monotonic."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._urgent: dict[KeyJob, None] = {}
        self._others: dict[KeyJob, None] = {}
        self._later: dict[KeyJob, int] = {}
        self._due: list[tuple[int, int, KeyJob]] = []  # a heap; those that are not as `_later` says are over
        self._serial = 0
        self._taken: dict[KeyJob, bool] = {}  # whether it was added again meanwhile
        self._failures: dict[KeyJob, int] = {}

    @property
    def missing_keys(self) -> int:
        """How many are to be unwrapped yet."""
        places = (self._urgent, self._others, self._later, self._taken)
        return sum(job.number != WHOLE_TOPIC for place in places for job in place)

    @property
    def is_at_rest(self) -> bool:
        """Nothing is under way, and nothing could begin now."""
        return not (self._urgent or self._others or self._taken)

    @property
    def next_due_ms(self) -> int | None:
        """When something can be taken that cannot be now; None: only when it is added."""
        self._drop_over()
        return self._due[0][0] if self._due else None

    def add(self, job: KeyJob, *, is_urgent: bool) -> None:
        """Due now, also where it was to wait."""
        self._later.pop(job, None)
        if job in self._taken:
            self._taken[job] = True
        elif job not in self._urgent:
            self._others.pop(job, None)
            (self._urgent if is_urgent else self._others)[job] = None

    def prefer(self, job: KeyJob) -> None:
        """Somebody waits for it: it is urgent, where it is due."""
        if job in self._others:
            del self._others[job]
            self._urgent[job] = None

    def hurry(self) -> None:
        """What waits for others is due now, as they may have done their part."""
        for job in [each for each in self._later if each not in self._failures]:
            self.add(job, is_urgent=True)

    def take(self, now_ms: int) -> KeyJob | None:
        """The next one, if one is due."""
        self._drop_over()
        while self._due and self._due[0][0] <= now_ms:
            job = heapq.heappop(self._due)[2]
            del self._later[job]
            self._others[job] = None
            self._drop_over()
        for row in (self._urgent, self._others):
            for job in row:
                del row[job]
                self._taken[job] = False
                return job
        return None

    def done(self, job: KeyJob) -> None:
        self._failures.pop(job, None)
        if self._taken.pop(job):
            self.add(job, is_urgent=True)

    def wait(self, job: KeyJob, now_ms: int) -> None:
        """Others have to do something first, or it takes effect only then."""
        self._failures.pop(job, None)
        self._put_off(job, now_ms + self._backoff.first_ms)

    def fail(self, job: KeyJob, now_ms: int) -> None:
        """It is tried again, later each time."""
        failures = self._failures[job] = self._failures.get(job, 0) + 1
        self._put_off(job, now_ms + self._backoff.delay_ms(failures))

    def _put_off(self, job: KeyJob, due_ms: int) -> None:
        if self._taken.pop(job):
            self.add(job, is_urgent=False)
            return
        self._later[job] = due_ms
        self._serial += 1
        heapq.heappush(self._due, (due_ms, self._serial, job))

    def _drop_over(self) -> None:
        while self._due and self._later.get(self._due[0][2]) != self._due[0][0]:
            heapq.heappop(self._due)
