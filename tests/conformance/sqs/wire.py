"""Both protocols of SQS, as plain as can be: what they say is not taken from the product.

The query protocol's names are those of the API reference's examples; its answers are put into the form that JSON has.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode
from xml.etree import ElementTree

TARGET = "AmazonSQS"
VERSION = "2012-11-05"
JSON_TYPE = "application/x-amz-json-1.0"
FORM_TYPE = "application/x-www-form-urlencoded"


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


Post = Callable[[dict[str, str], bytes], Awaitable[HttpAnswer]]
"""Of headers and a body, to `/`."""


class Answered(NamedTuple):
    """`error` is the error's name in JSON, or its code by the query protocol; "" where the call went well."""

    status: int
    error: str
    result: dict[str, Any]


# How lists and maps stand in a form: the name before the number, and for maps those of key and value.
_LISTS = {
    "AttributeNames": "AttributeName",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "MessageAttributeNames": "MessageAttributeName",
    "TagKeys": "TagKey",
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "StringListValues": "StringListValue",
}
_MAPS = {
    "Attributes": ("Attribute", "Name", "Value"),
    "MessageAttributes": ("MessageAttribute", "Name", "Value"),
    "MessageSystemAttributes": ("MessageSystemAttribute", "Name", "Value"),
    "Tags": ("Tag", "Key", "Value"),
    "tags": ("Tag", "Key", "Value"),
}
_NUMBERS = {"ApproximateNumberOfMessagesMoved", "ApproximateNumberOfMessagesToMove", "StartedTimestamp"}
# What repeats in an answer: its element, and what JSON calls the list or the map.
_REPEATED = {
    "QueueUrl": "QueueUrls",
    "Message": "Messages",
    "SendMessageBatchResultEntry": "Successful",
    "DeleteMessageBatchResultEntry": "Successful",
    "ChangeMessageVisibilityBatchResultEntry": "Successful",
    "BatchResultErrorEntry": "Failed",
    "ListMessageMoveTasksResultEntry": "Results",
}
_MAPPED = {"Attribute": "Attributes", "MessageAttribute": "MessageAttributes", "Tag": "Tags"}


async def call_by_json(post: Post, call: str, parameters: dict[str, Any]) -> Answered:
    headers = {"content-type": JSON_TYPE, "x-amz-target": f"{TARGET}.{call}"}
    answer = await post(headers, json.dumps(parameters).encode())
    found = json.loads(answer.body) if answer.body else {}
    if answer.status < 300:
        return Answered(answer.status, "", found)
    assert answer.headers["content-type"].startswith("application/x-amz-json-1.0"), answer.headers
    assert answer.headers["x-amzn-query-error"].count(";") == 1
    return Answered(answer.status, found["__type"].rpartition("#")[2], found)


async def call_by_query(post: Post, call: str, parameters: dict[str, Any]) -> Answered:
    entries = f"{call}RequestEntry"
    form = {"Action": call, "Version": VERSION, **_form(parameters, entries)}
    answer = await post({"content-type": FORM_TYPE}, urlencode(form).encode())
    document = ElementTree.fromstring(answer.body)
    assert document.tag.startswith("{http://queue.amazonaws.com/doc/2012-11-05/}"), document.tag
    if answer.status >= 300:
        code = document.findtext("./{*}Error/{*}Code")
        assert code, answer.body
        return Answered(answer.status, code, {})
    assert document.findtext("./{*}ResponseMetadata/{*}RequestId"), answer.body
    result = document.find(f"./{{*}}{call}Result")
    empty: dict[str, Any] = {"queueUrls": []} if call == "ListDeadLetterSourceQueues" else {}
    return Answered(answer.status, "", empty if result is None else empty | _result(call, result))


def _form(parameters: dict[str, Any], entries: str) -> dict[str, str]:
    form: dict[str, str] = {}
    for name, value in parameters.items():
        if name == "Entries":
            for number, each in enumerate(value, 1):
                for inner, text in _form(each, entries).items():
                    form[f"{entries}.{number}.{inner}"] = text
        elif name in _LISTS:
            for number, each in enumerate(value, 1):
                form[f"{_LISTS[name]}.{number}"] = str(each)
        elif name in _MAPS:
            stem, key_name, value_name = _MAPS[name]
            for number, (key, each) in enumerate(value.items(), 1):
                form[f"{stem}.{number}.{key_name}"] = key
                if isinstance(each, dict):
                    for inner, text in _form(each, entries).items():
                        form[f"{stem}.{number}.{value_name}.{inner}"] = text
                else:
                    form[f"{stem}.{number}.{value_name}"] = str(each)
        else:
            form[name] = str(value)
    return form


def _result(call: str, element: ElementTree.Element) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name in _MAPPED and len(child):
            key, value = child[0].text or "", child[1]
            found.setdefault(_MAPPED[name], {})[key] = _result(call, value) if len(value) else value.text or ""
        elif name in _REPEATED and (len(child) or call in {"ListQueues", "ListDeadLetterSourceQueues"}):
            plural = "queueUrls" if call == "ListDeadLetterSourceQueues" else _REPEATED[name]
            found.setdefault(plural, []).append(_result(call, child) if len(child) else child.text)
        elif name == "SenderFault":
            found[name] = child.text == "true"
        elif name in _NUMBERS:
            found[name] = int(child.text or "")
        else:
            found[name] = child.text or ""
    return found
