"""A request of SQS by its head: whether it is one, and which queue its path names."""

import re

from starlette.datastructures import Headers
from starlette.types import Scope

from app.sqs.protocol.json_input import TARGET_PREFIX

TARGET = "x-amz-target"
FORM_TYPE = "application/x-www-form-urlencoded"
_QUEUE_PATH = re.compile(r"/[0-9]{12}/[^/]{1,80}/?")
_HAS_ACTION = re.compile(rb"(?:\A|&)Action=")


def is_of_sqs(scope: Scope) -> bool:
    """`POST` and `GET` of `/` and of a queue's own path (`/000000000000/orders`), where the header says so, or where
    there is a form, or an `Action` in the query. Acklog's API has nothing of the kind there."""
    method, path = scope["method"], scope["path"]
    if method not in ("POST", "GET") or not (path == "/" or _QUEUE_PATH.fullmatch(path)):
        return False
    if scope["query_string"] and _HAS_ACTION.search(scope["query_string"]):
        return True
    headers = Headers(scope=scope)
    if method == "GET":
        return False
    if headers.get(TARGET, "").startswith(TARGET_PREFIX):
        return True
    return headers.get("content-type", "").partition(";")[0].strip().lower() == FORM_TYPE


def queue_url_of_path(scope: Scope, base_url: str) -> str | None:
    path: str = scope["path"]
    return None if path == "/" else base_url + path.removesuffix("/")


def base_url_of(scheme: str, server: tuple[str, int | None] | None, host: str | None) -> str:
    """By which the client has called the server; `host` is the header of that name."""
    authority = host or ":".join(map(str, server or ("localhost",)))
    return f"{scheme}://{authority}"
