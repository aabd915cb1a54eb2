"""The OpenAPI document: the framework's list of routes with what `app.http.description` says of each.

`python -m app.http.openapi_file` prints openapi.yaml.
"""

import json
import re
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from acklog.wire.identifiers import MESSAGE_ID_PATTERN, SCHEDULE_ID_PATTERN
from acklog.wire.limits import CONSUMER_NAME_LENGTH_MAX, KEY_BYTES_MAX, PARTITIONS_MAX, TOKEN_NAME_LENGTH_MAX
from acklog.wire.names import FULL_NAME_PATTERN, NAME_PATTERN, NAMESPACE_PATTERN
from acklog.wire.problems import ProblemCode
from app.calls.cluster import NODE_ID_MAX
from app.http.description.example_forms import Examples, Named
from app.http.description.examples import EXAMPLES
from app.http.description.needed_rights import NEEDED
from app.http.description.operation import COMMON, Operation
from app.http.description.operations import OPERATIONS
from app.http.description.remedies import REMEDIES
from app.http.description.schemas import all_schemas
from app.http.description.tasks import TASKS
from app.http.exchange.problems import CONTENT_TYPE as PROBLEM
from app.http.exchange.problems import problem_document
from app.http.parsing.json_schema import Schema, reference
from app.http.parsing.producers import NUMBER_MAX, PRODUCER_ID_PATTERN
from app.http.parsing.query import Parameter
from app.http.parsing.send import IDEMPOTENCY_KEY_BYTES_MAX
from cluster.errors import ServerError

_PATH_SCHEMAS: dict[str, Schema] = {
    "key": {"type": "string", "maxLength": KEY_BYTES_MAX, "description": "UTF-8, percent-encoded"},
    "topic": {"type": "string", "pattern": FULL_NAME_PATTERN, "description": "with `%2F` in the place of a `/`"},
    "group": {"type": "string", "pattern": FULL_NAME_PATTERN, "description": "with `%2F` in the place of a `/`"},
    "namespace": {"type": "string", "pattern": NAMESPACE_PATTERN},
    "producer": {"type": "string", "pattern": NAME_PATTERN},
    "member": {"type": "string", "minLength": 1, "maxLength": CONSUMER_NAME_LENGTH_MAX},
    "node": {"type": "integer", "minimum": 1, "maximum": NODE_ID_MAX},
    "messageId": {"type": "string", "pattern": MESSAGE_ID_PATTERN},
    "scheduleId": {"type": "string", "pattern": SCHEDULE_ID_PATTERN},
    "schedule": {"type": "string", "pattern": NAME_PATTERN},
    "partition": {"type": "integer", "minimum": 0, "maximum": PARTITIONS_MAX - 1},
    "jobId": {"type": "string"},
    "token": {"type": "string", "maxLength": TOKEN_NAME_LENGTH_MAX, "description": "its name"},
}
_HEADERS: dict[str, Schema] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": (
            "names the request: sent again as it was, within the topic's dedupWindowMs, it is stored once and answered "
            "as the first time; another content is 422 IDEMPOTENCY_KEY_REUSED for the messages of each partition whose "
            "part differs"
        ),
        "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX},
    },
    "Producer-Id": {
        "name": "Producer-Id",
        "in": "header",
        "description": (
            "of a named producer, as opening its name answered; with Producer-Epoch and Producer-Sequence, and without "
            "Idempotency-Key"
        ),
        "schema": {"type": "string", "pattern": f"^{PRODUCER_ID_PATTERN}$"},
    },
    "Producer-Epoch": {
        "name": "Producer-Epoch",
        "in": "header",
        "description": "as opening the name answered; 409 PRODUCER_FENCED once the name was opened again",
        "schema": {"type": "integer", "minimum": 1, "maximum": NUMBER_MAX},
    },
    "Producer-Sequence": {
        "name": "Producer-Sequence",
        "in": "header",
        "description": (
            "names the request within the epoch, as Idempotency-Key does: the same number for every try, and for no "
            "other request; numbers may come in any order"
        ),
        "schema": {"type": "integer", "minimum": 0, "maximum": NUMBER_MAX},
    },
    "Last-Event-ID": {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "go on behind the event of this id; browsers send it by themselves when they come again",
        "schema": {"type": "string"},
    },
}
# Links are relative to where the document is served, as are those in the descriptions of answers.
_DESCRIPTION = (
    "A durable message queue over HTTP on top of a log that is kept. [What the codes of errors mean](docs/errors) · "
    "[openapi.json](openapi.json)"
)
_ALSO = (ProblemCode.AUDIT_UNAVAILABLE,)
"""Of every administrative call."""
_PLAIN_KEY = re.compile(r"(?!(?:on|off|yes|no|true|false|null)$)[A-Za-z$][A-Za-z0-9$_-]*")
_PATH_PARAMETER = re.compile(r"{(\w+)}")


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The whole document. Raises KeyError for a route that `OPERATIONS` does not describe, or
    of which `NEEDED` does not say which rights it needs."""
    paths: dict[str, dict[str, Any]] = {}
    problems: dict[str, Any] = {}
    for route in app.routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        for method in sorted(route.methods or ()):
            assert route.operation_id is not None
            described = _operation(route.path_format, route.operation_id, problems)
            paths.setdefault(route.path_format, {})[method.lower()] = {"tags": list(route.tags), **described}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": app.title,
            "version": app.version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": all_schemas(),
            "responses": problems,
            "examples": {code.name: _example(code) for code in ProblemCode},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "x-tasks": [
            {"title": task.title, "description": task.description, "operations": list(task.operations)}
            for task in TASKS
        ],
    }


def _operation(path: str, operation_id: str, problems: dict[str, Any]) -> dict[str, Any]:
    """`problems` are the answers that are shared; those of this call are added."""
    operation, examples, needed = OPERATIONS[operation_id], EXAMPLES[operation_id], NEEDED[operation_id]
    described: dict[str, Any] = {
        "operationId": operation_id,
        "summary": operation.summary,
        "parameters": _parameters(path, operation, examples),
        "responses": {
            **_answers(operation, examples),
            **_problem_answers(operation, problems, also=_ALSO if needed.is_administrative else ()),
        },
        "x-rights": str(needed),
        "security": [] if operation.is_open else [{}, {"token": []}],
    }
    if operation.body:
        content = _content(operation.body, examples.bodies)
        described["requestBody"] = {"required": operation.is_body_required, "content": content}
    return described


def _content(schemas: dict[str, Schema], examples: dict[str, Named]) -> dict[str, Any]:
    content: dict[str, Any] = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    for media_type, named in examples.items():
        content[media_type]["examples"] = {name: {"value": value} for name, value in named.items()}
    return content


def _parameters(path: str, operation: Operation, examples: Examples) -> list[dict[str, Any]]:
    in_path: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}
        for name in _PATH_PARAMETER.findall(path)
    ]
    in_query = [_query_parameter(each) for each in operation.query.parameters]
    in_header = [_HEADERS[name] for name in operation.headers]
    return [_with_example(each, examples) for each in (*in_path, *in_query, *in_header)]


def _with_example(parameter: dict[str, Any], examples: Examples) -> dict[str, Any]:
    name = parameter["name"]
    return {**parameter, "example": examples.parameters[name]} if name in examples.parameters else parameter


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema = parameter.schema
    if parameter.values_max > 1:
        schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": parameter.values_max}
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.description,
        "schema": schema,
    }
    if parameter.values_max > 1:
        described |= {"style": "form", "explode": True}
    return described


def _answers(operation: Operation, examples: Examples) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, (description, content) in operation.answers.items():
        responses[str(status)] = {"description": description}
        if content:
            responses[str(status)]["content"] = _content(content, examples.answers.get(status, {}))
    return responses


def _problem_answers(
    operation: Operation, problems: dict[str, Any], *, also: tuple[ProblemCode, ...]
) -> dict[str, Any]:
    """References: calls that can fail in the same ways share what is said of it, which halves the document."""
    responses: dict[str, Any] = {}
    by_status: dict[int, dict[str, ProblemCode]] = {}
    for code in (*COMMON, *operation.problems, *also):
        by_status.setdefault(code.status, {})[code.name] = code
    for status in sorted(by_status):
        name = "-".join(sorted(by_status[status]))
        problems.setdefault(name, _problem_response([by_status[status][each] for each in sorted(by_status[status])]))
        responses[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return responses


def _problem_response(codes: list[ProblemCode]) -> dict[str, Any]:
    examples = {code.name: {"$ref": f"#/components/examples/{code.name}"} for code in codes}
    response: dict[str, Any] = {
        "description": "; ".join(f"{code.title} ([{code.name}](docs/errors#{code.name}))" for code in codes),
        "content": {PROBLEM: {"schema": reference("Problem"), "examples": examples}},
    }
    headers: dict[str, Any] = {}
    if any(code.retriable for code in codes):
        headers["Retry-After"] = {"description": "seconds", "schema": {"type": "integer", "minimum": 1}}
    if ProblemCode.METHOD_NOT_ALLOWED in codes:
        headers["Allow"] = {"schema": {"type": "string"}}
    if ProblemCode.UNAUTHENTICATED in codes:
        headers["WWW-Authenticate"] = {"schema": {"type": "string"}}
    if headers:
        response["headers"] = headers
    return response


def _example(code: ProblemCode) -> dict[str, Any]:
    return {
        "summary": code.title,
        "description": REMEDIES[code],
        "value": problem_document(ServerError(code, f"{code.title}.")),
    }


def to_yaml(value: object, indent: str = "") -> str:
    """Block style, with scalars as JSON writes them (every JSON scalar is one of YAML's, too)."""
    if isinstance(value, dict) and value:
        return "".join(f"{indent}{_yaml_key(name)}:{_yaml_value(each, indent)}" for name, each in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{indent}-{_yaml_value(each, indent)}" for each in value)
    return f"{indent}{json.dumps(value, ensure_ascii=False)}\n"


def _yaml_value(value: object, indent: str) -> str:
    if isinstance(value, dict | list) and value:
        return "\n" + to_yaml(value, indent + "  ")
    return f" {json.dumps(value, ensure_ascii=False)}\n"


def _yaml_key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else json.dumps(name)
