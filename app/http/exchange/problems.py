"""Failures as HTTP: RFC 9457 problem documents. The only module that knows both ServerError and HTTP."""

import logging
from collections.abc import Mapping
from urllib.parse import quote

from acklog.wire.problems import ProblemCode
from app.http.exchange.responses import BytesResponse, json_response
from cluster.errors import ServerError
from cluster.ports.coordination import CoordinationError, OutcomeUnknownError

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:acklog:problem:"
RETRY_AFTER_DEFAULT_MS = 1000
_logger = logging.getLogger("acklog.gateway")


def problem_type(code: ProblemCode) -> str:
    return TYPE_PREFIX + code.name


def problem_document(error: ServerError) -> dict[str, object]:
    """The document of a whole request's failure."""
    code = error.code
    document: dict[str, object] = {
        "type": problem_type(code),
        "title": code.title,
        "status": code.status,
        "detail": error.detail,
        "code": code.name,
        "retriable": code.retriable,
    }
    if error.field is not None:
        document["field"] = error.field
    document.update(error.extra)
    return document


def problem_response(error: ServerError, headers: Mapping[str, str] | None = None) -> BytesResponse:
    """The answer with that document. Whoever may ask again is told when, and which quota was in the way."""
    all_headers = dict(headers or {})
    if error.code.retriable:
        wait_ms = RETRY_AFTER_DEFAULT_MS if error.retry_after_ms is None else error.retry_after_ms
        all_headers["Retry-After"] = str(max(1, -(-wait_ms // 1000)))
    if error.code is ProblemCode.QUOTA_EXCEEDED:
        all_headers["Acklog-Quota"] = quote(str(error.extra.get("quota", "")), safe="/:,@=+")
    if error.code in (ProblemCode.UNAUTHENTICATED, ProblemCode.TOKEN_EXPIRED):
        all_headers["WWW-Authenticate"] = 'Bearer realm="acklog"'
    response = json_response(problem_document(error), error.code.status, all_headers)
    response.raw_headers[1] = (b"content-type", CONTENT_TYPE.encode())
    return response


def problem_of(error: Exception) -> BytesResponse:
    """The answer to whatever an endpoint raised. What nobody expected goes to the log with its stack."""
    if isinstance(error, ServerError):
        return problem_response(error)
    if isinstance(error, OutcomeUnknownError):
        detail = "the change may or may not have been made: read it back"
        return problem_response(ServerError(ProblemCode.OUTCOME_UNKNOWN, detail))
    if isinstance(error, CoordinationError):
        return problem_response(ServerError(ProblemCode.UNAVAILABLE, "the coordination store cannot be reached now"))
    _logger.error("a request failed unexpectedly", exc_info=error)
    return problem_response(ServerError(ProblemCode.INTERNAL, "the server failed; its log says why"))
