"""`/healthz`, `/readyz`, `/metrics`: for whoever runs the server. The first two need no token."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from acklog.wire.problems import ProblemCode
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import BytesResponse, json_response
from app.http.exchange.routes import Routes
from app.http.parsing.query import NO_PARAMETERS
from cluster.errors import ServerError
from cluster.model.action import Action


def add_operations(router: Routes, services: HttpServices) -> None:
    gateway = services.gateway

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", operation_id="isAlive", tags=["operations"])
    async def is_alive(request: Request) -> Response:
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response({"status": "alive"})

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", operation_id="isReady", tags=["operations"])
    async def is_ready(request: Request) -> Response:
        NO_PARAMETERS.parse(request.scope["query_string"])
        if gateway.shutdown.has_begun:
            raise ServerError(ProblemCode.SHUTTING_DOWN, "the server is shutting down")
        if not gateway.metadata.nodes():
            raise ServerError(ProblemCode.UNAVAILABLE, "no storage node is registered")
        reason = gateway.why_not_ready()
        if reason is not None:
            raise ServerError(ProblemCode.STORAGE_FAILED, reason)
        return json_response({"status": "ready"})

    @router.get("/metrics", operation_id="metrics", tags=["operations"])
    async def metrics(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), services.callers)
        principal.require_everything(Action.LOOK)  # labels are names
        NO_PARAMETERS.parse(request.scope["query_string"])
        text = await services.exposition()
        if gateway.colleagues is not None:
            text = await gateway.colleagues.whole_exposition(text)
        return BytesResponse(text, 200, None, CONTENT_TYPE_LATEST)
