"""A node of an earlier release knows no filters, and would give what nobody asked for: it is not asked."""

from typing import TypeVar

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.needed_protocol import PROTOCOL_OF_FILTERS
from storage.rpc.messages import ReceiveRequest, RecordsRequest

_Filtered = TypeVar("_Filtered", ReceiveRequest, RecordsRequest)


def of_known_filters(request: _Filtered, version: int) -> _Filtered:
    """The request as it is. Raises ServerError NODES_TOO_OLD."""
    if request.filter and version < PROTOCOL_OF_FILTERS:
        detail = "a node is of a version that knows no filters"
        raise ServerError(ProblemCode.NODES_TOO_OLD, detail, field="filter")
    return request
