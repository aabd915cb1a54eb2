"""What openapi.yaml says of the form of messages that are to be seen later."""

from acklog.wire.identifiers import MESSAGE_ID_PATTERN, SCHEDULE_ID_PATTERN
from app.http.parsing.json_schema import Schema, reference

_COUNT: Schema = {"type": "integer", "minimum": 0}
_MESSAGE: Schema = {
    "type": "object",
    "properties": {
        "scheduleId": {"type": "string", "pattern": SCHEDULE_ID_PATTERN},
        "queue": {"type": "string"},
        "partition": _COUNT,
        "state": {"enum": ["scheduled", "delivered", "cancelled"]},
        "deliverAt": {"type": "integer", "description": "of one that is scheduled: when it is to be seen, ms"},
        "size": {"type": "integer", "minimum": 0, "description": "of the body, in bytes"},
        "key": {"type": "string"},
        "body": {"description": "the JSON value; not in lists"},
        "bodyBase64": {"type": "string", "description": "in the place of body: bytes"},
        "contentType": {"type": "string"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "messageId": {"type": "string", "pattern": MESSAGE_ID_PATTERN, "description": "of one that is delivered"},
        "offset": _COUNT,
    },
    "required": ["scheduleId", "queue", "partition", "state"],
    "additionalProperties": False,
}
SCHEDULED_SCHEMAS: dict[str, Schema] = {
    "ScheduledMessage": _MESSAGE,
    "ScheduledListing": {
        "type": "object",
        "properties": {
            "scheduled": {"type": "array", "items": reference("ScheduledMessage")},
            "pending": {"type": "integer", "minimum": 0, "description": "all that is scheduled in the topic"},
            "next": {"type": "string", "description": "there is more: ask again with `cursor` set to it"},
        },
        "required": ["scheduled", "pending"],
        "additionalProperties": False,
    },
}
