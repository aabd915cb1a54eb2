"""`/tokens`: those that are kept in the coordination store, and what a token may do."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.tokens import parse_question, parse_rotate, parse_token, parse_token_page
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_tokens(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/tokens", operation_id="listTokens", tags=["tokens"])
    async def list_tokens(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        limit, after = parse_token_page(request.scope["query_string"])
        return json_response(services.tokens.list_page(principal, limit=limit, after=after))

    @router.post("/tokens", operation_id="createToken", tags=["tokens"])
    async def create_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_token(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.tokens.create(fields, principal), 201)

    @router.get("/token", operation_id="describeOwnToken", tags=["tokens"])
    async def describe_own_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(services.tokens.describe_self(principal))

    @router.get("/token/can", operation_id="askOfOwnToken", tags=["tokens"])
    async def ask_of_own_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        question = parse_question(request.scope["query_string"])
        return json_response(services.tokens.decide_self(*question, principal))

    @router.get("/tokens/{token}", operation_id="describeToken", tags=["tokens"])
    async def describe_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.tokens.describe(request.path_params["token"], principal))

    @router.get("/tokens/{token}/can", operation_id="askOfToken", tags=["tokens"])
    async def ask_of_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        question = parse_question(request.scope["query_string"])
        return json_response(await services.tokens.decide(request.path_params["token"], *question, principal))

    @router.post("/tokens/{token}/rotate", operation_id="rotateToken", tags=["tokens"])
    async def rotate_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_rotate(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.tokens.rotate(request.path_params["token"], fields, principal))

    @router.delete("/tokens/{token}", operation_id="revokeToken", tags=["tokens"])
    async def revoke_token(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.tokens.revoke(request.path_params["token"], principal)
        return Response(status_code=204)
