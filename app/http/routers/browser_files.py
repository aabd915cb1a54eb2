"""The files of all pages for browsers, each with what it is sent in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from app.console.console_files import ConsoleFiles, media_type_of, read_console
from app.gateway.dependencies import InThread
from app.http.exchange.problem_handlers import nothing_at
from app.http.exchange.request import RequestHeaders
from app.http.exchange.web_file import WebFileResponse
from app.http.exchange.web_file_forms import GZIP, WebFileForms
from app.http.parsing.accept import takes_coding

IMMUTABLE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class ServedFiles:
    """`forms` by path below the folder of the release that `files` are."""

    files: ConsoleFiles
    forms: Mapping[str, WebFileForms] = field(repr=False)

    def asset(self, request: Request) -> WebFileForms:
        """The one that the path names by `release` and `path`. Raises ServerError NOT_FOUND."""
        form = self.forms.get(request.path_params["path"])
        if form is None or request.path_params["release"] != self.files.release:
            raise nothing_at(request)
        return form


class BrowserFiles:
    """Read once, off the loop, at the first request: most processes serve nobody's browser."""

    def __init__(self, in_thread: InThread | None) -> None:
        self._in_thread = in_thread
        self._served: ServedFiles | None = None

    async def served(self) -> ServedFiles:
        """Raises OSError."""
        if self._served is None:
            served = _read() if self._in_thread is None else cast(ServedFiles, await self._in_thread(_read))
            self._served = served
        return self._served


def _read() -> ServedFiles:
    files = read_console()
    forms = {
        path: WebFileForms.of(content, media_type_of(path), caching=IMMUTABLE)
        for path, content in files.contents.items()
    }
    return ServedFiles(files, forms)


def answer_in_form(request: Request, file: WebFileForms) -> Response:
    headers = RequestHeaders(request)
    form = file.compressed if takes_coding(headers.get(b"accept-encoding"), GZIP) else file.plain
    return WebFileResponse(form, headers.get(b"if-none-match"))
