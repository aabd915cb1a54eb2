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
    "Last-Event-ID",
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
EVERY_ORIGIN = "*"
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
            allow_private_network=EVERY_ORIGIN not in origins,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """A browser asks before a page's request; what it may not ask is refused as everything is here."""
        answer = super().preflight_response(request_headers)
        if answer.status_code < 400:
            return answer
        if not self.is_allowed_origin(request_headers["origin"]):
            return _not_this_origin("a page of this origin may not call this server")
        if request_headers["access-control-request-method"] not in self.allow_methods:
            detail = f"pages of other origins may send {', '.join(METHODS)}"
            fault = ServerError(ProblemCode.METHOD_NOT_ALLOWED, detail, field="Access-Control-Request-Method")
            return problem_response(fault, {"Allow": ", ".join(METHODS)})
        if "headers" in bytes(answer.body).decode():
            detail = f"beside what every page may send, pages of other origins may send {', '.join(REQUEST_HEADERS)}"
            field = "Access-Control-Request-Headers"
            return problem_response(ServerError(ProblemCode.INVALID_FIELD, detail, field=field))
        return _not_this_origin("a page of the internet may call a server in a private network only if it is named")


def _not_this_origin(detail: str) -> Response:
    fault = ServerError(ProblemCode.ORIGIN_NOT_ALLOWED, f"{detail}: see --cors-origins", field="Origin")
    return problem_response(fault)


def cross_origin(app: ASGIApp, origins: frozenset[str]) -> ASGIApp:
    """`app` itself where no other origin is named: nothing is looked at then."""
    return CrossOriginApplication(app, origins) if origins else app
