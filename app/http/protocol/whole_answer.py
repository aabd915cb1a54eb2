"""An answer that the protocol gives by itself, without an application."""

from collections.abc import Mapping
from http import HTTPStatus

from app.http.exchange.problems import problem_response
from cluster.errors import ServerError


def whole_answer(error: ServerError, headers: Mapping[str, str] | None = None) -> bytes:
    """A whole HTTP answer with the problem document, behind which the connection is closed."""
    response = problem_response(error, {**(headers or {}), "connection": "close"})
    status = HTTPStatus(error.code.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(response.body)
