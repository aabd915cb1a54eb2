"""What the calls under `/cluster` take."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.parsing import query
from app.parsing.json_text import check_utf8, decode
from cluster.errors import AcklogError

NODE_ID_MAX = 1_000_000
NODES_NAMED_MAX = 1_000
MOVES_NAMED_MAX = 1_000
LISTED_DEFAULT = 100
LISTED_MAX = 10_000

_NODE = re.compile(r"[0-9]{1,7}")
_Node = Annotated[int, Meta(ge=1, le=NODE_ID_MAX)]
_Nodes = Annotated[list[_Node], Meta(max_length=NODES_NAMED_MAX)]
_Replicas = Annotated[
    list[_Node],
    Meta(min_length=1, max_length=limits.REPLICAS_MAX, description="node ids, the preferred leader first"),
]
_Partition = Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]


class MoveFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `PUT /cluster/moves/{topic}/{partition}`."""

    replicas: _Replicas


class PlannedMoveFields(msgspec.Struct, forbid_unknown_fields=True):
    """A move to try out."""

    topic: str
    partition: _Partition
    replicas: _Replicas


class PlanFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /cluster/plan`: what would be moved if this were so. Without a body: as things are."""

    drain: Annotated[_Nodes, Meta(description="as if these nodes were drained")] = []
    lost: Annotated[_Nodes, Meta(description="as if these nodes were away for too long")] = []
    moves: Annotated[
        list[PlannedMoveFields], Meta(max_length=MOVES_NAMED_MAX, description="as if these moves were asked for")
    ] = []
    limit: Annotated[int, Meta(ge=1, le=LISTED_MAX, description="moves found at most")] = 1000


class UncleanPlanFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /cluster/partitions/{topic}/{partition}/unclean-election/plan`."""

    node: Annotated[_Node | None, Meta(description="whom to elect; without it the replica that loses least")] = None


class UncleanElectionFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /cluster/partitions/{topic}/{partition}/unclean-election`: the `order` of a plan, as it was
    given. It is carried out only while nothing of it has changed."""

    node: _Node
    incarnation: Annotated[int, Meta(ge=0, description="the life of the node that was looked at")]
    directory_id: Annotated[str, Meta(max_length=200, description="of the node's data directory")]
    revision: Annotated[int, Meta(ge=1, description="of the partition in the coordination store")]


class DecommissionFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `PUT /topics/{topic}/decommissioned`. What is decommissioned already stays so."""

    partitions: Annotated[list[_Partition], Meta(min_length=1, max_length=limits.PARTITIONS_MAX)]


CLUSTER_QUERY = query.QueryTable(
    (query.integer("limit", 1, LISTED_MAX, "moves, and partitions in trouble, listed at most", default=LISTED_DEFAULT),)
)

_move_decoder = msgspec.json.Decoder(MoveFields)
_plan_decoder = msgspec.json.Decoder(PlanFields)
_unclean_plan_decoder = msgspec.json.Decoder(UncleanPlanFields)
_unclean_election_decoder = msgspec.json.Decoder(UncleanElectionFields)
_decommission_decoder = msgspec.json.Decoder(DecommissionFields)


def parse_cluster_limit(query_string: bytes) -> int:
    """Raises AcklogError."""
    return CLUSTER_QUERY.parse(query_string).integer("limit") or LISTED_DEFAULT


def parse_move(body: bytes) -> MoveFields:
    """Raises AcklogError."""
    check_utf8(body)
    return decode(_move_decoder, body)


def parse_plan(body: bytes) -> PlanFields:
    """Raises AcklogError."""
    if not body:
        return PlanFields()
    check_utf8(body)
    return decode(_plan_decoder, body)


def parse_unclean_plan(body: bytes) -> UncleanPlanFields:
    """Raises AcklogError."""
    if not body:
        return UncleanPlanFields()
    check_utf8(body)
    return decode(_unclean_plan_decoder, body)


def parse_unclean_election(body: bytes) -> UncleanElectionFields:
    """Raises AcklogError."""
    check_utf8(body)
    return decode(_unclean_election_decoder, body)


def parse_decommission(body: bytes) -> DecommissionFields:
    """Raises AcklogError."""
    check_utf8(body)
    return decode(_decommission_decoder, body)


def node_number(text: str) -> int:
    """The id of a node in a path. Raises AcklogError INVALID_FIELD."""
    if not _NODE.fullmatch(text) or not 1 <= int(text) <= NODE_ID_MAX:
        raise AcklogError(ProblemCode.INVALID_FIELD, f"must be a node id, 1 to {NODE_ID_MAX}", field="node")
    return int(text)
