"""`/console`, the page for people, and `/`, which leads browsers there. No token is needed: what the page asks for, it
asks with its user's."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.console.console_page import CONSOLE_PAGE
from app.http.description.page import HTML
from app.http.exchange.http_services import HttpServices
from app.http.exchange.problem_handlers import nothing_at
from app.http.exchange.request import RequestHeaders
from app.http.exchange.responses import BytesResponse
from app.http.exchange.web_file_forms import WebFileForms
from app.http.parsing.accept import is_for_people
from app.http.routers.browser_files import BrowserFiles, ServedFiles, answer_in_form

_TEXT = "text/plain; charset=utf-8"


def add_console(router: APIRouter, services: HttpServices, browser_files: BrowserFiles) -> None:
    """While `no_console` is set there is none."""
    settings = services.settings
    pages: list[WebFileForms] = []

    async def served(request: Request) -> ServedFiles:
        if settings.no_console:
            raise nothing_at(request)
        return await browser_files.served()

    @router.head("/", include_in_schema=False)
    @router.get("/", include_in_schema=False)
    async def root(request: Request) -> Response:
        is_to_console = is_for_people(RequestHeaders(request).get(b"accept")) and not settings.no_console
        location = "console" if is_to_console else "docs"
        return BytesResponse(b"", 307, {"Location": location, "Vary": "Accept"}, _TEXT)

    @router.head("/console", include_in_schema=False)
    @router.get("/console", include_in_schema=False)
    async def page(request: Request) -> Response:
        found = await served(request)
        if not pages:
            pages.append(WebFileForms.of(CONSOLE_PAGE.html(found.files), HTML))
        return answer_in_form(request, pages[0])

    @router.head("/console/assets/{release}/{path:path}", include_in_schema=False)
    @router.get("/console/assets/{release}/{path:path}", include_in_schema=False)
    async def asset(request: Request) -> Response:
        return answer_in_form(request, (await served(request)).asset(request))
