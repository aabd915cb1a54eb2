"""`/console`, the page for people, and `/`, which leads browsers there. No token is needed: what the page asks for, it
asks with its user's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.console.console_files import media_type_of, read_console
from app.console.console_page import console_page
from app.http.description.page import HTML
from app.http.exchange.http_services import HttpServices
from app.http.exchange.problem_handlers import nothing_at
from app.http.exchange.request import RequestHeaders
from app.http.exchange.responses import BytesResponse
from app.http.exchange.web_file import WebFileResponse
from app.http.exchange.web_file_forms import GZIP, WebFileForms
from app.http.parsing.accept import is_for_people, takes_coding

IMMUTABLE = "public, max-age=31536000, immutable"
_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _ServedConsole:
    """`files` by their path below `/console/assets/<release>/`."""

    page: WebFileForms
    release: str
    files: Mapping[str, WebFileForms] = field(repr=False)


def add_console(router: APIRouter, services: HttpServices) -> None:
    """While `no_console` is set there is none."""
    settings = services.settings
    in_thread = services.gateway.in_thread
    served: list[_ServedConsole] = []

    async def console(request: Request) -> _ServedConsole:
        """Made once, at the first request: most processes serve nobody's browser."""
        if settings.no_console:
            raise nothing_at(request)
        if not served:
            served.append(_serve() if in_thread is None else cast(_ServedConsole, await in_thread(_serve)))
        return served[0]

    @router.head("/", include_in_schema=False)
    @router.get("/", include_in_schema=False)
    async def root(request: Request) -> Response:
        is_to_console = is_for_people(RequestHeaders(request).get(b"accept")) and not settings.no_console
        location = "console" if is_to_console else "docs"
        return BytesResponse(b"", 307, {"Location": location, "Vary": "Accept"}, _TEXT)

    @router.head("/console", include_in_schema=False)
    @router.get("/console", include_in_schema=False)
    async def page(request: Request) -> Response:
        return _answer(request, (await console(request)).page)

    @router.head("/console/assets/{release}/{path:path}", include_in_schema=False)
    @router.get("/console/assets/{release}/{path:path}", include_in_schema=False)
    async def asset(request: Request) -> Response:
        found = await console(request)
        file = found.files.get(request.path_params["path"])
        if file is None or request.path_params["release"] != found.release:
            raise nothing_at(request)
        return _answer(request, file)


def _serve() -> _ServedConsole:
    found = read_console()
    files = {
        path: WebFileForms.of(content, media_type_of(path), caching=IMMUTABLE)
        for path, content in found.contents.items()
    }
    return _ServedConsole(WebFileForms.of(console_page(found), HTML), found.release, files)


def _answer(request: Request, file: WebFileForms) -> Response:
    headers = RequestHeaders(request)
    form = file.compressed if takes_coding(headers.get(b"accept-encoding"), GZIP) else file.plain
    return WebFileResponse(form, headers.get(b"if-none-match"))
