"""`/docs` with what belongs to it, and `/openapi.json`. Each is made once, at the first request.
No token is needed."""

from collections.abc import Callable
from functools import partial
from typing import cast

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from app.gateway.dependencies import InThread
from app.http.description.documentation_files import PACKAGED, packaged
from app.http.description.openapi import openapi_document
from app.http.description.page import HTML, errors_page, swagger_page
from app.http.description.plain_page import plain_page
from app.http.exchange.problem_handlers import nothing_at
from app.http.exchange.request import RequestHeaders
from app.http.exchange.responses import JSON, json_response
from app.http.exchange.web_file import WebFile, WebFileResponse


def add_documentation(router: APIRouter, app: FastAPI, in_thread: InThread | None) -> None:
    made: dict[str, WebFile] = {}

    def answer(request: Request, name: str, make: Callable[[], WebFile]) -> Response:
        if name not in made:
            made[name] = make()
        return WebFileResponse(made[name], RequestHeaders(request).get(b"if-none-match"))

    @router.head("/openapi.json", include_in_schema=False)
    @router.get("/openapi.json", include_in_schema=False)
    async def openapi_json(request: Request) -> Response:
        return answer(request, "openapi.json", lambda: WebFile(bytes(json_response(app.openapi()).body), JSON))

    @router.head("/docs", include_in_schema=False)
    @router.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return answer(request, "docs", lambda: WebFile(swagger_page(app.title), HTML))

    @router.head("/docs/errors", include_in_schema=False)
    @router.get("/docs/errors", include_in_schema=False)
    async def errors(request: Request) -> Response:
        return answer(request, "docs/errors", lambda: WebFile(errors_page(app.title), HTML))

    @router.head("/docs/plain", include_in_schema=False)
    @router.get("/docs/plain", include_in_schema=False)
    async def plain(request: Request) -> Response:
        return answer(request, "docs/plain", lambda: WebFile(plain_page(app.openapi()), HTML))

    @router.head("/docs/assets/{name}", include_in_schema=False)
    @router.get("/docs/assets/{name}", include_in_schema=False)
    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in PACKAGED:
            raise nothing_at(request)
        if name not in made and in_thread is not None:
            made[name] = cast(WebFile, await in_thread(partial(packaged, name)))
        return answer(request, name, partial(packaged, name))


def use_description(app: FastAPI) -> None:
    """Let the application's own document be `app.http.description`'s."""

    def described() -> dict[str, object]:
        if app.openapi_schema is None:
            app.openapi_schema = openapi_document(app)
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
