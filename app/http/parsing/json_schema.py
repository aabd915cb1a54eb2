"""The words of JSON Schema that declarations of fields and parameters are written in."""

from typing import Any

from acklog.wire import limits
from acklog.wire.names import FULL_NAME_PATTERN

Schema = dict[str, Any]

NAME: Schema = {"type": "string", "pattern": FULL_NAME_PATTERN}
TIME: Schema = {"type": "integer", "minimum": 0, "maximum": limits.TIMESTAMP_MS_MAX}


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}
