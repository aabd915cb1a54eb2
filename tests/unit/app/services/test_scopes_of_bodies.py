"""What has a body takes no more to be read than the call needs, and is not read for who has less (rule R38)."""

import itertools
import json
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.http.description.examples import EXAMPLES
from app.http.description.media_types import JSON
from app.http.description.openapi import openapi_document
from app.http.description.operations import OPERATIONS
from app.http.openapi_file import standalone_app
from tests.support.memory_gateway import MemoryWorld

READ, WRITE, ADMIN, PURGE = SCOPES = ("read", "write", "admin", "purge")
NEEDED = {
    "sendMessages": {WRITE},
    "moveScheduled": {WRITE},
    "acknowledge": {READ},
    "giveBack": {READ},
    "extend": {READ},
    "putTopic": {ADMIN},
    "updateTopic": {ADMIN},
    "decommissionPartitions": {ADMIN},
    "purgeTopic": {PURGE},
    "deleteBefore": {PURGE},
    "compactTopic": {ADMIN},
    "openProducer": {WRITE},
    "putSchedule": {WRITE},
    "updateSchedule": {WRITE},
    "putGroup": {ADMIN},
    "updateGroup": {ADMIN},
    "pauseGroup": {ADMIN},
    "resumeGroup": {ADMIN},
    "copyPosition": {READ, ADMIN},
    "startRedrive": {READ, WRITE},
    "releaseBlocked": {ADMIN},
    "skipBlocked": {ADMIN},
    "seekGroup": {ADMIN},
    "seekGroupByPost": {ADMIN},
    "joinGroup": {READ},
    "heartbeat": {READ},
    "planMoves": {READ},
    "reassignPartition": {ADMIN},
    "planUncleanElection": {ADMIN},
    "electUnclean": {ADMIN},
    "beginRestore": {ADMIN, WRITE},
    "restoreBatches": {WRITE},
    "restoreGroups": {ADMIN},
    "finishRestore": {ADMIN},
    "createToken": {ADMIN, WRITE},  # nobody gives what he does not have: the token is one for sending
    "rotateToken": {ADMIN},
    "putNamespace": {ADMIN},
    "updateNamespace": {ADMIN},
}
CALLS = {
    operation["operationId"]: (method, path)
    for path, methods in openapi_document(standalone_app())["paths"].items()
    for method, operation in methods.items()
}
SETS = [set(chosen) for count in range(5) for chosen in itertools.combinations(SCOPES, count)]
TOKENS = {
    f"scopes-{index}-of-a-token-0123456789": scopes
    for index, scopes in enumerate(SETS)
    if scopes  # a token has some
}
FILE = {"tokens": [{"name": token, "token": token, "scopes": sorted(scopes)} for token, scopes in TOKENS.items()]}


def test_every_call_with_a_body_is_here() -> None:
    assert list(NEEDED) == [operation_id for operation_id, operation in OPERATIONS.items() if operation.body]


@pytest.mark.parametrize("operation_id", NEEDED)
async def test_whoever_has_what_is_needed_may_and_nobody_else(serve: Any, operation_id: str) -> None:
    method, path = CALLS[operation_id]
    bodies = EXAMPLES[operation_id].bodies
    example = next(iter(bodies[JSON].values())) if JSON in bodies else {}
    path = path.format_map({name: str(value) for name, value in EXAMPLES[operation_id].parameters.items()})
    async with serve(MemoryWorld(tokens=parse_token_table(json.dumps(FILE).encode()))) as client:
        for token, scopes in TOKENS.items():
            answer = await client.request(method, path, json=example, headers={"Authorization": f"Bearer {token}"})
            assert (answer.status_code == 403) == (not NEEDED[operation_id] <= scopes), (sorted(scopes), answer.text)
            assert answer.status_code != 401
