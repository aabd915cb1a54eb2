"""`/topics/{topic}/restore` and `/topics/{topic}/partitions/{partition}/state`: backups and restores."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from acklog.wire.limits import BATCH_BYTES_MAX
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.request_body import read_body
from app.http.exchange.responses import json_response
from app.http.parsing.copies import (
    RESTORE_GROUPS_BYTES_MAX,
    parse_append,
    parse_begin,
    parse_finish,
    parse_restore_groups,
)
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.records import partition_number
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_copies(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/topics/{topic}/partitions/{partition}/state", operation_id="partitionState", tags=["copies"])
    async def partition_state(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        path = request.path_params
        return json_response(await services.copies.state(path["topic"], partition_number(path["partition"]), principal))

    @router.put("/topics/{topic}/restore", operation_id="beginRestore", tags=["copies"])
    async def begin_restore(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_begin(await body_of(request, principal, services, action=Action.MANAGE))
        view, is_created = await services.copies.begin(request.path_params["topic"], fields, principal)
        return json_response(view, 201 if is_created else 200)

    @router.get("/topics/{topic}/restore", operation_id="lookAtRestore", tags=["copies"])
    async def look_at_restore(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.copies.look(request.path_params["topic"], principal))

    @router.post(
        "/topics/{topic}/restore/partitions/{partition}/batches", operation_id="restoreBatches", tags=["copies"]
    )
    async def restore_batches(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        principal.require_before_body(Action.SEND)
        path = request.path_params
        partition = partition_number(path["partition"])
        arguments = parse_append(request.scope["query_string"])
        with services.bytes_in_flight.hold(principal) as hold:
            body = await read_body(
                request,
                headers,
                hold,
                services.turns,
                timeout_ms=services.settings.body_timeout_ms,
                bytes_max=BATCH_BYTES_MAX,
            )
            progress = await services.copies.append(
                path["topic"],
                partition,
                arguments.restore_id,
                body,
                log=arguments.log,
                fill_to=arguments.fill_to,
                principal=principal,
            )
        return json_response(progress)

    @router.post("/topics/{topic}/restore/partitions/{partition}/groups", operation_id="restoreGroups", tags=["copies"])
    async def restore_groups(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        path = request.path_params
        partition = partition_number(path["partition"])
        body = await body_of(request, principal, services, action=Action.MANAGE, bytes_max=RESTORE_GROUPS_BYTES_MAX)
        fields = parse_restore_groups(body)
        return json_response(await services.copies.restore_groups(path["topic"], partition, fields, principal))

    @router.post("/topics/{topic}/restore/finish", operation_id="finishRestore", tags=["copies"])
    async def finish_restore(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_finish(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.copies.finish(request.path_params["topic"], fields, principal))
