"""`/namespaces`: administration."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.namespaces import parse_namespace, parse_namespace_page
from app.http.parsing.query import NO_PARAMETERS
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_namespaces(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/namespaces", operation_id="listNamespaces", tags=["namespaces"])
    async def list_namespaces(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        limit, after = parse_namespace_page(request.scope["query_string"])
        return json_response(services.namespaces.list_page(principal, limit=limit, after=after))

    @router.put("/namespaces/{namespace}", operation_id="putNamespace", tags=["namespaces"])
    async def put_namespace(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_namespace(await body_of(request, principal, services, action=Action.MANAGE))
        view, is_created = await services.namespaces.create(request.path_params["namespace"], fields, principal)
        return json_response(view, 201 if is_created else 200)

    @router.patch("/namespaces/{namespace}", operation_id="updateNamespace", tags=["namespaces"])
    async def patch_namespace(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_namespace(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.namespaces.update(request.path_params["namespace"], fields, principal))

    @router.get("/namespaces/{namespace}", operation_id="describeNamespace", tags=["namespaces"])
    async def describe_namespace(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.namespaces.describe(request.path_params["namespace"], principal))

    @router.delete("/namespaces/{namespace}", operation_id="deleteNamespace", tags=["namespaces"])
    async def delete_namespace(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.namespaces.delete(request.path_params["namespace"], principal)
        return Response(status_code=204)
