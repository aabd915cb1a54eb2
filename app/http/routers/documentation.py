"""`/docs` with what belongs to it, and `/openapi.json`. Each is made once, at the first request. No token is needed."""

from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from app.console.browser_page import ICON
from app.console.documentation_page import DOCUMENTATION_PAGE
from app.console.shared_styles import PLAIN_STYLES
from app.http.description.openapi import openapi_document
from app.http.description.page import HTML, PageFiles, errors_page
from app.http.description.plain_page import plain_page
from app.http.exchange.http_services import HttpServices
from app.http.exchange.problem_handlers import nothing_at
from app.http.exchange.responses import JSON, json_response
from app.http.exchange.web_file_forms import WebFileForms
from app.http.routers.browser_files import BrowserFiles, ServedFiles, answer_in_form

CONSOLE = "console"
"""Its address from `/docs`."""


def add_documentation(router: APIRouter, app: FastAPI, services: HttpServices, browser_files: BrowserFiles) -> None:
    settings = services.settings
    made: dict[str, WebFileForms] = {}
    own_paths: set[str] = set()

    def answer(request: Request, name: str, make: Callable[[], bytes], media_type: str = HTML) -> Response:
        if name not in made:
            made[name] = WebFileForms.of(make(), media_type)
        return answer_in_form(request, made[name])

    @router.head("/openapi.json", include_in_schema=False)
    @router.get("/openapi.json", include_in_schema=False)
    async def openapi_json(request: Request) -> Response:
        return answer(request, "openapi.json", lambda: bytes(json_response(app.openapi()).body), JSON)

    @router.head("/docs", include_in_schema=False)
    @router.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        """It leads to the console while there is one."""
        console = "" if settings.no_console else CONSOLE
        files = (await browser_files.served()).files
        return answer(request, f"docs {console}", lambda: DOCUMENTATION_PAGE.html(files, console=console))

    @router.head("/docs/errors", include_in_schema=False)
    @router.get("/docs/errors", include_in_schema=False)
    async def errors(request: Request) -> Response:
        page_files = _plain_files(await browser_files.served())
        return answer(request, "docs/errors", lambda: errors_page(app.title, page_files))

    @router.head("/docs/plain", include_in_schema=False)
    @router.get("/docs/plain", include_in_schema=False)
    async def plain(request: Request) -> Response:
        page_files = _plain_files(await browser_files.served())
        return answer(request, "docs/plain", lambda: plain_page(app.openapi(), page_files))

    @router.head("/docs/assets/{release}/{path:path}", include_in_schema=False)
    @router.get("/docs/assets/{release}/{path:path}", include_in_schema=False)
    async def asset(request: Request) -> Response:
        """Also where there is no console: what is of it alone is not served here."""
        served = await browser_files.served()
        own_paths.update(() if own_paths else (*DOCUMENTATION_PAGE.paths(served.files), *PLAIN_STYLES))
        if request.path_params["path"] not in own_paths:
            raise nothing_at(request)
        return answer_in_form(request, served.asset(request))


def _plain_files(served: ServedFiles) -> PageFiles:
    folder = f"assets/{served.files.release}/"
    return PageFiles(icon=f"{folder}{ICON}", styles=tuple(f"{folder}{path}" for path in PLAIN_STYLES))


def use_description(app: FastAPI) -> None:
    """Let the application's own document be `app.http.description`'s."""

    def described() -> dict[str, object]:
        if app.openapi_schema is None:
            app.openapi_schema = openapi_document(app)
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
