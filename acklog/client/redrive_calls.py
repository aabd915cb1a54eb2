"""The calls about jobs that send dead letters back."""

from collections.abc import Sequence

from acklog.client.call import JSON, Call, Request, encode_document, read_as, segment
from acklog.redrives import RedriveJob, RedriveList

_read_job = read_as(RedriveJob)
_read_list = read_as(RedriveList)


def start_redrive(
    group: str,
    *,
    topic: str | None,
    to: str | None,
    filter: str | None,
    message_ids: Sequence[str] | None,
    rate_per_second: int | None,
) -> Call[RedriveJob]:
    """A second try finds the first one under way."""
    fields: dict[str, object] = {
        "topic": topic,
        "to": to,
        "filter": filter,
        "messageIds": None if message_ids is None else list(message_ids),
        "ratePerSecond": rate_per_second,
    }
    body = encode_document({name: value for name, value in fields.items() if value is not None})
    return Call(Request("POST", _path(group), body, JSON), _read_job, is_repeatable=False)


def list_redrives(group: str) -> Call[RedriveList]:
    return Call(Request("GET", _path(group)), _read_list)


def get_redrive(group: str, job_id: str) -> Call[RedriveJob]:
    return Call(Request("GET", _path(group, job_id)), _read_job)


def cancel_redrive(group: str, job_id: str) -> Call[RedriveJob]:
    return Call(Request("DELETE", _path(group, job_id)), _read_job)


def _path(group: str, job_id: str | None = None) -> str:
    path = f"/groups/{segment(group)}/redrive"
    return path if job_id is None else f"{path}/{segment(job_id)}"
