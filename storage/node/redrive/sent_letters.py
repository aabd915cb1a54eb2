"""A dead letter as it is sent back, and how it is found again where it went."""

from acklog.wire.letter_headers import FIRST_ID, PREFIX, SOURCE, first_id_of
from acklog.wire.record import Record

REDRIVE_HEADER = "acklog-redrive"
"""Says by which job a message came back, and which letter it was: `<job id>-<partition>-<offset>`."""


def source_of(letter: Record) -> str:
    """The name of the topic that it came from; "" where it does not say."""
    return (letter.headers or {}).get(SOURCE, "")


def sent_back(letter: Record, job_id: str, partition: int, offset: int) -> Record:
    """The message as it was. Nothing of it is deduplicated: whoever redrives it wants it again."""
    headers = {name: text for name, text in (letter.headers or {}).items() if not name.startswith(PREFIX)}
    first_id = first_id_of(letter.headers)
    if first_id:
        headers[FIRST_ID] = first_id
    headers[REDRIVE_HEADER] = f"{job_id}-{partition}-{offset}"
    return Record(letter.body, letter.key, headers, letter.tags, letter.timestamp_ms, letter.content_type)


def letter_offset_of(message: Record, job_id: str, partition: int) -> int | None:
    """Where the letter was that the message was made of; None for what the job did not send from that partition."""
    mark, _, number = (message.headers or {}).get(REDRIVE_HEADER, "").rpartition("-")
    is_ours = mark == f"{job_id}-{partition}" and number.isascii() and number.isdecimal()
    return int(number) if is_ours else None
