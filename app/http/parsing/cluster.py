"""What the calls under `/cluster` take."""

import re

import msgspec

from acklog.wire.problems import ProblemCode
from app.calls.cluster import (
    LISTED_MAX,
    NODE_ID_MAX,
    DecommissionFields,
    MoveFields,
    PlanFields,
    UncleanElectionFields,
    UncleanPlanFields,
)
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError

LISTED_DEFAULT = 100

_NODE = re.compile(r"[0-9]{1,7}")


CLUSTER_QUERY = query.QueryTable(
    (query.integer("limit", 1, LISTED_MAX, "moves, and partitions in trouble, listed at most", default=LISTED_DEFAULT),)
)

_move_decoder = msgspec.json.Decoder(MoveFields)
_plan_decoder = msgspec.json.Decoder(PlanFields)
_unclean_plan_decoder = msgspec.json.Decoder(UncleanPlanFields)
_unclean_election_decoder = msgspec.json.Decoder(UncleanElectionFields)
_decommission_decoder = msgspec.json.Decoder(DecommissionFields)


def parse_cluster_limit(query_string: bytes) -> int:
    """Raises ServerError."""
    return CLUSTER_QUERY.parse(query_string).integer("limit") or LISTED_DEFAULT


def parse_move(body: bytes) -> MoveFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_move_decoder, body)


def parse_plan(body: bytes) -> PlanFields:
    """Raises ServerError."""
    if not body:
        return PlanFields()
    check_utf8(body)
    return decode(_plan_decoder, body)


def parse_unclean_plan(body: bytes) -> UncleanPlanFields:
    """Raises ServerError."""
    if not body:
        return UncleanPlanFields()
    check_utf8(body)
    return decode(_unclean_plan_decoder, body)


def parse_unclean_election(body: bytes) -> UncleanElectionFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_unclean_election_decoder, body)


def parse_decommission(body: bytes) -> DecommissionFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_decommission_decoder, body)


def node_number(text: str) -> int:
    """The id of a node in a path. Raises ServerError INVALID_FIELD."""
    if not _NODE.fullmatch(text) or not 1 <= int(text) <= NODE_ID_MAX:
        raise ServerError(ProblemCode.INVALID_FIELD, f"must be a node id, 1 to {NODE_ID_MAX}", field="node")
    return int(text)
