"""Messages as a log has them, for tests of what a mirror makes of them."""

import msgspec

from acklog.messages import StoredMessage

TOPIC_ID = "7pwmz9w7rr3a6"
OTHER_ID = "a9ng4hpvyk53n"


def stored(offset: int, **fields: object) -> StoredMessage:
    values = {
        "message_id": f"m-{TOPIC_ID}-2-1-{offset}",
        "topic": "orders",
        "partition": 2,
        "offset": offset,
        "key": "k",
        "json_body": msgspec.Raw(b'{"n": 1.10}'),
        "timestamp_ms": 17,
        "append_time_ms": 18,
        **fields,
    }
    return StoredMessage(**values)  # type: ignore[arg-type]
