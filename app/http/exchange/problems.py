"""Failures as HTTP: RFC 9457 problem documents. The only module that knows both ServerError and HTTP."""

import logging
from collections.abc import Mapping
from urllib.parse import quote

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match

from acklog.wire.problems import ProblemCode
from app.http.exchange.kept_slashes import shown_path
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


def install_problem_handlers(app: FastAPI) -> None:
    """Every way in which a request can fail ends in a problem document; a stack trace goes to the log only."""

    async def raised(_request: Request, error: Exception) -> BytesResponse:
        return problem_of(error)

    async def framework(request: Request, error: Exception) -> BytesResponse:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            allowed = ", ".join(allowed_methods(app.router.routes, request))
            detail = f"{request.method[:20]} is not possible here, {allowed or 'nothing'} is"
            return problem_response(ServerError(ProblemCode.METHOD_NOT_ALLOWED, detail), {"Allow": allowed})
        if error.status_code == 404:
            return problem_response(nothing_at(request))
        _logger.error("unexpected HTTP error of the framework", exc_info=error)
        return problem_response(ServerError(ProblemCode.INTERNAL, "the server failed"))

    async def unexpected(_request: Request, _error: Exception) -> BytesResponse:
        return problem_response(ServerError(ProblemCode.INTERNAL, "the server failed; its log says why"))

    app.add_exception_handler(ServerError, raised)
    app.add_exception_handler(HTTPException, framework)
    app.add_exception_handler(CoordinationError, raised)
    app.add_exception_handler(Exception, unexpected)


def nothing_at(request: Request) -> ServerError:
    return ServerError(ProblemCode.NOT_FOUND, f"nothing is at {shown_path(request.scope)[:200]}")


def allowed_methods(routes: list[BaseRoute], request: Request) -> list[str]:
    """Every method that some route takes at the request's path. (The framework names only the first route's.)"""
    methods: dict[str, None] = {}
    for route in routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            for method in sorted(getattr(route, "methods", None) or ()):
                methods[method] = None
    return list(methods)
