"""Parts of paths that may be any text: UTF-8, as queries are. What is not would name another than its client meant."""

from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

_REPLACED = "\N{REPLACEMENT CHARACTER}"
"""What a server puts in the place of bytes that are no UTF-8. A client may mean it, too."""


def path_text(request: Request, name: str) -> str:
    """Raises ServerError INVALID_FIELD."""
    text = str(request.path_params[name])
    if _REPLACED in text and not _is_utf8(request.scope.get("raw_path") or b""):
        raise ServerError(ProblemCode.INVALID_FIELD, "is not valid UTF-8", field=name)
    return text


def _is_utf8(raw_path: bytes) -> bool:
    try:
        unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return False
    return True
