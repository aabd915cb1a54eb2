"""The calls about namespaces."""

from collections.abc import Mapping

from acklog.catalog import camel_case
from acklog.client.call import JSON, Call, Request, encode_document, read_as, read_nothing, segment, target
from acklog.namespaces import Namespace, NamespacePage

_read_one = read_as(Namespace)
_read_page = read_as(NamespacePage)


def create_namespace(name: str, settings: Mapping[str, object]) -> Call[Namespace]:
    return Call(Request("PUT", _path(name), _document(settings), JSON), _read_one)


def update_namespace(name: str, settings: Mapping[str, object]) -> Call[Namespace]:
    return Call(Request("PATCH", _path(name), _document(settings), JSON), _read_one)


def delete_namespace(name: str) -> Call[None]:
    return Call(Request("DELETE", _path(name)), read_nothing, is_repeatable=False)


def get_namespace(name: str) -> Call[Namespace]:
    return Call(Request("GET", _path(name)), _read_one)


def list_namespaces(*, limit: int, after: str | None) -> Call[NamespacePage]:
    return Call(Request("GET", target("/namespaces", [("limit", limit), ("after", after)])), _read_page)


def _path(name: str) -> str:
    return f"/namespaces/{segment(name)}"


def _document(settings: Mapping[str, object]) -> bytes:
    return encode_document({"settings": camel_case(settings)})
