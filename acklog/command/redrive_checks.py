"""What a doctor says of jobs that send dead letters back: those that left some, and those that stand still."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, names_text, ok, warn
from acklog.command.quantities import count_text

if TYPE_CHECKING:
    from acklog import Client
    from acklog.redrives import RedriveJob

LOOK_AGAIN_S = 5.0
LOOK_AGAIN_S_MAX = 30.0
"""A job so slow that nothing needs to happen in this time is not judged."""
_NAME = "redrives"


def redrive_checks(client: "Client", groups: Sequence[str], *, pause: Callable[[float], None]) -> Iterator[Check]:
    """Of each topic's letters, the newest job of each of `groups`: what an earlier one left is its business. Raises
    AcklogError."""
    newest = [job for group in groups for job in _newest_jobs(client, group)]
    left = [f"{_job_text(job)} ({job.failed:,})" for job in newest if job.failed]
    if left:
        advice = "They stay where they are: acklog dlq list shows them, acklog dlq jobs how far each job came."
        yield warn(_NAME, f"letters could not be sent back by {names_text(left)}", advice)
    still = _standing_still(client, [job for job in newest if not job.is_finished], pause)
    if still:
        advice = "The server's log says what it waits for (redrive_delayed). Give it up: acklog dlq cancel JOB."
        yield warn("redrives still", f"nothing moves in {names_text([_job_text(job) for job in still])}", advice)
    if not left and not still:
        yield ok(_NAME, f"{count_text(len(newest), 'job')}, none failed or stands still" if newest else "no jobs")


def _newest_jobs(client: "Client", group: str) -> "list[RedriveJob]":
    from acklog.errors import GroupNotFound

    try:
        jobs = client.redrives.list(group)
    except GroupNotFound:
        return []  # deleted meanwhile
    by_topic: dict[str | None, RedriveJob] = {}
    for job in jobs:  # the newest first
        by_topic.setdefault(job.topic, job)
    return list(by_topic.values())


def _standing_still(
    client: "Client", unfinished: "Sequence[RedriveJob]", pause: Callable[[float], None]
) -> "list[RedriveJob]":
    first = [looked for job in unfinished if (looked := _looked_at(client, job)) is not None]
    judged = [job for job in first if _step_s(job) <= LOOK_AGAIN_S_MAX]
    if not judged:
        return []
    pause(max(LOOK_AGAIN_S, *map(_step_s, judged)))
    again = [(job, _looked_at(client, job)) for job in judged]
    return [
        job for job, then in again if then is not None and not then.is_finished and then.partitions == job.partitions
    ]


def _looked_at(client: "Client", job: "RedriveJob") -> "RedriveJob | None":
    """With its partitions; None where it is gone or over."""
    from acklog.errors import GroupNotFound, RedriveNotFound

    try:
        found = client.redrives.get(job.group, job.job_id)
    except (GroupNotFound, RedriveNotFound):
        return None
    return None if found.is_finished else found


def _step_s(job: "RedriveJob") -> float:
    """In so long something of it surely moves, by its rate: that is divided among the partitions."""
    return 0.0 if job.rate_per_second is None else 2 * len(job.partitions) / job.rate_per_second


def _job_text(job: "RedriveJob") -> str:
    return f"{job.group} of {job.topic or 'a deleted topic'}, {job.job_id}"
