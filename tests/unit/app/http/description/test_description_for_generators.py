"""What generators of clients stumble over is not in the description."""

from collections.abc import Iterator
from typing import Any

from app.http.description.schemas import all_schemas


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(each)


def test_no_constants_that_are_no_text() -> None:
    assert [part for part in parts(all_schemas()) if "const" in part] == []


def test_what_is_sent_is_one_object_each() -> None:
    schemas = all_schemas()
    for name in ("SendRequest", "Message", "AckRequest", "NackRequest", "ExtendRequest"):
        assert (schemas[name]["type"], schemas[name]["additionalProperties"]) == ("object", False), name
        assert not {"oneOf", "anyOf", "allOf"} & set(schemas[name]), name
