"""One meaning a name: a class of the product that is searched for is found once."""

import ast
from collections import defaultdict

from tests.architecture.source_tree import product_modules

_SDK_SHOWS = "what the server means by it, as the SDK shows it to a client, who imports nothing of the server's"

# Name: why more than one class has it. Only the same notion on two sides of a boundary that one cannot import across.
SAME_NOTION = {
    "Backoff": "the SDK imports nothing of the server's, and there are no pauses in what both share",
    "ClusterNode": _SDK_SHOWS,
    "CommittedPosition": _SDK_SHOWS,
    "Group": _SDK_SHOWS,
    "GroupSettings": _SDK_SHOWS,
    "GroupState": _SDK_SHOWS,
    "LogReach": "of a replica's log: as it is judged, on the wire between nodes, and as the SDK shows it",
    "MoveProgress": _SDK_SHOWS,
    "Namespace": _SDK_SHOWS,
    "NamespaceSettings": _SDK_SHOWS,
    "OutgoingMessage": "what is to be sent: as the SDK is told, and as a call of SQS says it",
    "PartitionDescription": _SDK_SHOWS,
    "PartitionState": _SDK_SHOWS,
    "ProblemItem": _SDK_SHOWS,
    "Received": _SDK_SHOWS,
    "RedriveJob": _SDK_SHOWS,
    "RedrivePart": _SDK_SHOWS,
    "SeekTarget": "where a group is sent: in the API, and as the command line is told",
    "TimePassed": "what a leader's and a follower's machine are told alike; each has its events in one place",
    "Topic": _SDK_SHOWS,
    "TopicConfig": _SDK_SHOWS,
    "TopicDescription": _SDK_SHOWS,
    "UncleanElection": _SDK_SHOWS,
}


def test_a_class_has_its_name_for_itself() -> None:
    found = {name: sorted(paths) for name, paths in _shared().items() if name not in SAME_NOTION}
    assert found == {}


def test_every_exception_is_still_needed() -> None:
    assert sorted(set(SAME_NOTION) - set(_shared())) == []


def _shared() -> dict[str, list[str]]:
    """Public classes by name, where several modules have one. What begins with `_` is its module's own."""
    paths = defaultdict(list)
    for module in product_modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                paths[node.name].append(module.path)
    return {name: where for name, where in paths.items() if len(where) > 1}
