"""Where the server is and who asks: the URL and the token that a client is made with, checked."""

from collections.abc import Callable
from urllib.parse import urlsplit

from acklog.errors import InvalidArgument

DEFAULT_URL = "http://127.0.0.1:8080"
URL_VARIABLE = "ACKLOG_URL"
TOKEN_VARIABLE = "ACKLOG_TOKEN"


def given_or_found(url: str | None, token: str | None, variable: Callable[[str], str]) -> tuple[str, str | None]:
    """The URL and the token; what is None comes from the environment, which `variable` reads."""
    found_url = url if url is not None else variable(URL_VARIABLE) or DEFAULT_URL
    return found_url, token if token is not None else variable(TOKEN_VARIABLE) or None


def base_url_of(url: str) -> str:
    """The URL without a slash at its end; a path before the API's own is kept. Raises InvalidArgument."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise InvalidArgument(f"{url!r} is no URL of a server, {DEFAULT_URL!r} would be one", field="url")
    if parts.query or parts.fragment or parts.username is not None:
        raise InvalidArgument(f"{url!r} has more than a scheme, a host and a path", field="url")
    return url.rstrip("/")


def headers_of(token: str | None, *, version: str) -> dict[str, str]:
    """What goes with every request. Raises InvalidArgument for a token that cannot stand in a header."""
    headers = {"User-Agent": f"acklog/{version}", "Accept": "application/json"}
    if token is not None:
        headers["Authorization"] = bearer_of(token)
    return headers


def bearer_of(token: str) -> str:
    """What the Authorization header says. Raises InvalidArgument."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument("a token is printable ASCII without spaces", field="token")
    return f"Bearer {token}"
