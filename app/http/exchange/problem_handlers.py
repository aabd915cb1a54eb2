"""Failures that the framework sees, as the problem documents that all others are."""

import logging

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match

from acklog.wire.problems import ProblemCode
from app.http.exchange.kept_slashes import shown_path
from app.http.exchange.problems import problem_of, problem_response
from app.http.exchange.responses import BytesResponse
from cluster.errors import ServerError
from cluster.ports.coordination import CoordinationError

_logger = logging.getLogger("acklog.gateway")


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
