"""What openapi.yaml says of topics that are encrypted, and its examples."""

from typing import Any

from acklog.wire.problems import ProblemCode
from app.http.description.example_answers import TIME_MS
from app.http.description.example_forms import Examples, in_json
from app.http.description.operation import FROM_COORDINATION, WITH_TOKEN, Operation, json_of

_P = ProblemCode
_PROBLEMS = (*WITH_TOKEN, *FROM_COORDINATION, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND)

ENCRYPTION_OPERATIONS: dict[str, Operation] = {
    "describeEncryption": Operation(
        "By which data keys a topic is encrypted, and which master keys the nodes have",
        {200: ("Their numbers and ids, nothing of them", json_of("EncryptionView"))},
        _PROBLEMS,
    ),
    "rotateDataKey": Operation(
        "Have what is stored of a topic from now on encrypted by another data key; old batches stay readable",
        {202: ("It was asked for; a node makes the key soon", json_of("EncryptionView"))},
        (*_PROBLEMS, _P.NOT_ENCRYPTED, _P.TOO_MANY_DATA_KEYS),
    ),
}

SECRETS = "payments"
_KEY: dict[str, Any] = {"number": 1, "masterKey": "b57c366463311695", "createdAt": TIME_MS}
_NODES = [{"node": 1, "masterKeys": ["b57c366463311695"]}]
STATE: dict[str, Any] = {
    "topic": SECRETS,
    "encryption": "on",
    "dataKeysWanted": 1,
    "dataKeys": [_KEY],
    "nodes": _NODES,
}
ENCRYPTION_EXAMPLES = {
    "describeEncryption": Examples({"topic": SECRETS}, {}, {200: in_json(one_data_key=STATE)}),
    "rotateDataKey": Examples({"topic": SECRETS}, {}, {202: in_json(another_is_wanted={**STATE, "dataKeysWanted": 2})}),
}
