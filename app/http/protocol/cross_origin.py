"""What pages of other origins may do: those that a server names may call it with a token of their user, and read the
answers. Nothing goes by itself: there are no cookies, so a page has no more rights than what it sends."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from acklog.wire.problems import ProblemCode
from app.http.exchange.problems import problem_response
from cluster.errors import ServerError

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
REQUEST_HEADERS = (
    "Authorization",
    "Content-Encoding",
    "Idempotency-Key",
    "Producer-Epoch",
    "Producer-Id",
    "Producer-Sequence",
    "X-Amz-Content-Sha256",
    "X-Amz-Date",
    "X-Amz-Security-Token",
    "X-Amz-Target",
    "X-Amz-User-Agent",
    "X-Amzn-Query-Mode",
    "X-Amzn-Trace-Id",
    "amz-sdk-invocation-id",
    "amz-sdk-request",
    "traceparent",
    "tracestate",
)
"""Beside those that every page may send, Content-Type among them. Those with `amz` are what clients of SQS send."""
EVERY_HEADER = "*"
PREFLIGHT_SECONDS = 600


class CrossOriginApplication(CORSMiddleware):
    """An ASGI application around `app`, for pages of `origins` (`*`: any)."""

    def __init__(self, app: ASGIApp, origins: frozenset[str]) -> None:
        super().__init__(
            app,
            allow_origins=sorted(origins),
            allow_methods=METHODS,
            allow_headers=REQUEST_HEADERS,
            expose_headers=(EVERY_HEADER,),
            max_age=PREFLIGHT_SECONDS,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """A browser asks before a page's request; what it may not ask is refused as everything is here."""
        answer = super().preflight_response(request_headers)
        if answer.status_code < 400:
            return answer
        what = bytes(answer.body).decode().removeprefix("Disallowed CORS ")
        detail = f"a page of another origin may not send this (not allowed: {what}): see --cors-origins"
        return problem_response(ServerError(ProblemCode.ORIGIN_NOT_ALLOWED, detail, field="Origin"))


def cross_origin(app: ASGIApp, origins: frozenset[str]) -> ASGIApp:
    """`app` itself where no other origin is named: nothing is looked at then."""
    return CrossOriginApplication(app, origins) if origins else app
