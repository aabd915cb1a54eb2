"""Attributes as a call gives them: read, held against the kind of the queue and against each other."""

import json
from collections.abc import Mapping

from app.sqs.queues.attribute_table import ATTRIBUTES, SETTABLE, Attribute, AttributePlace
from app.sqs.sqs_error import SqsError, SqsErrorCode

_SHOWN_MAX = 256
_JSON = frozenset({"Policy", "RedrivePolicy", "RedriveAllowPolicy"})
_KEPT = {each.name for each in SETTABLE if each.place is AttributePlace.QUEUE} | {"RedrivePolicy"}


def read_attributes(given: Mapping[str, str], *, is_fifo: bool) -> dict[str, str]:
    """As they are kept; "" takes one away. Raises SqsError INVALID_ATTRIBUTE_NAME, INVALID_ATTRIBUTE_VALUE,
    INVALID_PARAMETER_VALUE."""
    found = {name: _read(_settable(name, is_fifo=is_fifo), text) for name, text in given.items()}
    if found.get("KmsMasterKeyId") and found.get("SqsManagedSseEnabled") == "true":
        raise invalid_attribute("SqsManagedSseEnabled", "KmsMasterKeyId is another kind of encryption: name one.")
    return found


def read_changes(given: Mapping[str, str], *, is_fifo: bool) -> dict[str, str]:
    """As `read_attributes`, of a queue that there is: what its name tells is not changed."""
    for name in given:
        if name in ATTRIBUTES and ATTRIBUTES[name].place is AttributePlace.NAME:
            raise unknown_attribute(name)
    return read_attributes(given, is_fifo=is_fifo)


def kept_attributes(before: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What is kept of the queue as it was given, with what is given now. One kind of encryption ends the other.
    Raises SqsError INVALID_ATTRIBUTE_VALUE."""
    kept = {**before, **{name: text for name, text in given.items() if name in _KEPT}}
    if given.get("KmsMasterKeyId"):
        kept.pop("SqsManagedSseEnabled", None)
    elif given.get("SqsManagedSseEnabled") == "true":
        kept.pop("KmsMasterKeyId", None)
    limit, scope = kept.get("FifoThroughputLimit"), kept.get("DeduplicationScope")
    if limit == "perMessageGroupId" and scope != "messageGroup":
        named = "FifoThroughputLimit" if "FifoThroughputLimit" in given else "DeduplicationScope"
        raise invalid_attribute(named, "perMessageGroupId takes the DeduplicationScope messageGroup.")
    return {name: text for name, text in kept.items() if text}


def first_difference(given: Mapping[str, str], shown: Mapping[str, str]) -> str | None:
    """The attribute that the queue has otherwise."""
    for name, text in given.items():
        if not _is_same(name, text, shown.get(name, "")):
            return name
    return None


def unknown_attribute(name: str) -> SqsError:
    return SqsError(SqsErrorCode.INVALID_ATTRIBUTE_NAME, f"Unknown Attribute {name[:_SHOWN_MAX]}.")


def invalid_attribute(name: str, reason: str) -> SqsError:
    detail = f"Invalid value for the parameter {name}. Reason: {reason}"
    return SqsError(SqsErrorCode.INVALID_ATTRIBUTE_VALUE, detail)


def invalid_policy(name: str, text: str, reason: str) -> SqsError:
    """Of a policy about dead letters."""
    detail = f"Value {text[:_SHOWN_MAX]} for parameter {name} is invalid. Reason: {reason}"
    return SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)


def _settable(name: str, *, is_fifo: bool) -> Attribute:
    found = ATTRIBUTES.get(name)
    if found is None or found.place is AttributePlace.ASKED or (found.is_for_fifo and not is_fifo):
        raise unknown_attribute(name)
    return found


def _read(attribute: Attribute, text: str) -> str:
    if not text and attribute.is_clearable:
        return ""
    try:
        return attribute.read(text)
    except ValueError as error:
        if attribute.name in {"RedrivePolicy", "RedriveAllowPolicy"}:
            raise invalid_policy(attribute.name, text, str(error)) from None
        raise invalid_attribute(attribute.name, str(error)) from None


def _is_same(name: str, text: str, other: str) -> bool:
    """Policies are the same that say the same."""
    if name in _JSON and text and other:
        return _plain(name, text) == _plain(name, other)
    return text == other


def _plain(name: str, text: str) -> object:
    found = json.loads(text)
    if name == "RedrivePolicy":
        return {**found, "maxReceiveCount": int(found["maxReceiveCount"])}
    return found
