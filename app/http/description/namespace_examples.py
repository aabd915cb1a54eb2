"""Examples of the calls about namespaces."""

from typing import Any

from app.http.description.example_forms import Examples, in_json

_NAMESPACE = {"namespace": "shop"}
_VIEW: dict[str, Any] = {
    "name": "shop",
    "id": "3ye0bhn2k6w1z",
    "createdAt": 1767222000000,
    "settings": {
        "topicsMax": 100,
        "partitionsMax": 800,
        "groupsMax": 50,
        "schedulesMax": 100,
        "producersMax": None,
        "requestsPerSecond": None,
        "messagesPerSecond": 5000,
        "bytesPerSecond": None,
    },
    "topics": 2,
    "partitions": 16,
    "groups": 1,
    "schedules": 3,
    "producers": 0,
}
_LIMITS = {
    "settings": {
        "topicsMax": 100,
        "partitionsMax": 800,
        "groupsMax": 50,
        "schedulesMax": 100,
        "messagesPerSecond": 5000,
    }
}

NAMESPACE_EXAMPLES: dict[str, Examples] = {
    "listNamespaces": Examples({}, {}, {200: in_json(one={"namespaces": [_VIEW]})}),
    "putNamespace": Examples(_NAMESPACE, in_json(limited=_LIMITS), {200: in_json(one=_VIEW), 201: in_json(one=_VIEW)}),
    "updateNamespace": Examples(
        _NAMESPACE, in_json(more={"settings": {"topicsMax": 200, "messagesPerSecond": None}}), {200: in_json(one=_VIEW)}
    ),
    "describeNamespace": Examples(_NAMESPACE, {}, {200: in_json(one=_VIEW)}),
    "deleteNamespace": Examples(_NAMESPACE),
}
