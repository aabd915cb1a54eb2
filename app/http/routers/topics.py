"""`/topics`: administration."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.cluster import parse_decommission
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.records import partition_number
from app.http.parsing.topics import parse_topic, parse_topics, parse_update
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_topics(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/topics", operation_id="listTopics", tags=["topics"])
    async def list_topics(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        limit, after, with_internal = parse_topics(request.scope["query_string"])
        page = services.topics.list_page(principal, limit=limit, after=after, with_internal=with_internal)
        return json_response(page)

    @router.put("/topics/{topic}", operation_id="putTopic", tags=["topics"])
    async def put_topic(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_topic(await body_of(request, principal, services, action=Action.MANAGE))
        view, is_created = await services.topics.create(request.path_params["topic"], fields, principal)
        return json_response(view, 201 if is_created else 200)

    @router.patch("/topics/{topic}", operation_id="updateTopic", tags=["topics"])
    async def patch_topic(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        may_lose_data = parse_update(request.scope["query_string"])
        fields = parse_topic(await body_of(request, principal, services, action=Action.MANAGE))
        name = request.path_params["topic"]
        return json_response(await services.topics.update(name, fields, principal, may_lose_data=may_lose_data))

    @router.get("/topics/{topic}", operation_id="describeTopic", tags=["topics"])
    async def describe_topic(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.topics.describe(request.path_params["topic"], principal))

    @router.get("/topics/{topic}/partitions/{partition}", operation_id="describePartition", tags=["topics"])
    async def describe_partition(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        partition = partition_number(request.path_params["partition"])
        topic = request.path_params["topic"]
        return json_response(await services.topics.describe_partition(topic, partition, principal))

    @router.put("/topics/{topic}/decommissioned", operation_id="decommissionPartitions", tags=["topics"])
    async def decommission_partitions(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_decommission(await body_of(request, principal, services, action=Action.MANAGE))
        topic = request.path_params["topic"]
        return json_response(await services.topics.decommission(topic, fields.partitions, principal))

    @router.delete("/topics/{topic}", operation_id="deleteTopic", tags=["topics"])
    async def delete_topic(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.topics.delete(request.path_params["topic"], principal)
        return Response(status_code=204)
