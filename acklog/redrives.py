"""Jobs that send dead letters back, as the API describes them. Times are in milliseconds since 1970."""

import msgspec
from msgspec import field

RUNNING = "running"


class RedrivePart(msgspec.Struct):
    """Letters of the partition between `start` and `end` are the job's; those below `position` are behind it."""

    partition: int
    start: int
    end: int
    position: int
    moved: int
    failed: int


class RedriveJob(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`state` is "running", "done", "cancelled" or "gone" (its topic of dead letters was deleted).

    `total` letters had not been handled when it was made; `moved` are stored where they go (`to`; None: where each came
    from) and handled, `failed` stay where they are. A list leaves out the `partitions`.
    """

    job_id: str = field(name="jobId")
    group: str
    topic: str | None
    state: str
    created_at_ms: int = field(name="createdAt")
    total: int
    moved: int
    failed: int
    to: str | None = None
    filter: str | None = None
    rate_per_second: int | None = field(name="ratePerSecond", default=None)
    cancelled_at_ms: int | None = field(name="cancelledAt", default=None)
    finished_at_ms: int | None = field(name="finishedAt", default=None)
    partitions: list[RedrivePart] = []

    @property
    def is_finished(self) -> bool:
        """Nothing of it is under way any more."""
        return self.finished_at_ms is not None or self.state not in {RUNNING, "cancelled"}


class RedriveList(msgspec.Struct):
    """The newest first."""

    jobs: list[RedriveJob]
