"""`/docs`, to which `/` leads, and `/openapi.json`. Made once, at the first request; no token is needed."""

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from app.description.page import documentation_page
from app.openapi import openapi_document
from app.responses import JSON, BytesResponse, json_response


def add_documentation(router: APIRouter, app: FastAPI) -> None:
    made: dict[str, bytes] = {}

    def document() -> bytes:
        if JSON not in made:
            made[JSON] = bytes(json_response(app.openapi()).body)
        return made[JSON]

    @router.get("/", include_in_schema=False)
    async def root(_request: Request) -> Response:
        return BytesResponse(b"", 307, {"Location": "docs"}, "text/plain; charset=utf-8")

    @router.get("/openapi.json", include_in_schema=False)
    async def openapi_json(_request: Request) -> Response:
        return BytesResponse(document(), 200, None, JSON)

    @router.get("/docs", include_in_schema=False)
    async def docs(_request: Request) -> Response:
        if "page" not in made:
            made["page"] = documentation_page(app.openapi())
        return BytesResponse(made["page"], 200, None, "text/html; charset=utf-8")


def use_description(app: FastAPI) -> None:
    """Let the application's own document be `app.description`'s."""

    def described() -> dict[str, object]:
        if app.openapi_schema is None:
            app.openapi_schema = openapi_document(app)
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
