"""Which rights each call needs. A test asks every call with every kind of token, and goes by this table; docs and
openapi.yaml show it."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from cluster.model.action import Action
from cluster.model.internal_topics import AUDIT_TOPIC


class On(Enum):
    TOPIC = "the topic"
    GROUP = "the group"
    CLUSTER = "the cluster"
    ANYTHING = "anything"
    """The answer shows those that the right is on."""
    EVERYTHING = "the cluster, every topic and every group"


class Need(NamedTuple):
    """One of the actions, on that."""

    actions: tuple[Action, ...]
    on: On

    def __str__(self) -> str:
        return f"{' or '.join(each.value for each in self.actions)} on {self.on.value}"


_ADMINISTRATIVE = frozenset({Action.MANAGE, Action.SEEK, Action.PURGE})


class Needed(NamedTuple):
    """All of `needs`. `also` says what more some requests need, and `instead` is what those need whose body makes them
    another call."""

    needs: tuple[Need, ...]
    also: str = ""
    instead: tuple[Need, ...] = ()

    @property
    def is_administrative(self) -> bool:
        """Whether the audit log has each call."""
        return any(not _ADMINISTRATIVE.isdisjoint(need.actions) for need in self.needs)

    def __str__(self) -> str:
        text = ", ".join(map(str, self.needs))
        return "; ".join(filter(None, (text, self.also)))


def _topic(action: Action) -> Need:
    return Need((action,), On.TOPIC)


def _group(action: Action) -> Need:
    return Need((action,), On.GROUP)


_PROGRESS = Need((Action.LOOK, Action.RECEIVE), On.GROUP)
_SHOWN_TOPICS = "shows the topics that the token may look at; look on those that are named"
_SHOWN_KEYS = "shows keys to who has receive on the topic, too"
_MASTER_KEYS = "shows nodes and master keys to who has look on the cluster, too"
_SHOWN_MESSAGE = "shows the message to who has receive on it, too"
_ON_TOPIC = {
    Action.SEND: (_topic(Action.SEND),),
    Action.RECEIVE: (_topic(Action.RECEIVE),),
    Action.LOOK: (_topic(Action.LOOK),),
    Action.MANAGE: (_topic(Action.MANAGE),),
    Action.PURGE: (_topic(Action.PURGE),),
}
_BOTH = {action: (_topic(action), _group(action)) for action in (Action.RECEIVE, Action.SETTLE, Action.SEEK)}
_STEERING = Needed((Need((Action.MANAGE,), On.CLUSTER),))
_OF_AUDIT_LOG = Need((Action.AUDIT,), On.CLUSTER)
_UNCLEAN = Needed((Need((Action.MANAGE,), On.CLUSTER), _topic(Action.MANAGE)))
_SEEKS = Needed(
    _BOTH[Action.SEEK], "with `offsets` (a commit) it is settle on both instead", instead=_BOTH[Action.SETTLE]
)
_GIVING = "and every right that the token has or gets: patterns as they stand there, or the action everywhere"
_DEAD_LETTERS = (
    "with `deadLetterTopic`, manage on that topic, and manage and receive on those that the group reads; and none of "
    "it may be denied on some topics"
)

NEEDED: Mapping[str, Needed] = {
    "sendMessages": Needed(_ON_TOPIC[Action.SEND]),
    "receiveMessages": Needed(_BOTH[Action.RECEIVE], "on each `queue`; with `autoAck`, settle on them and the group"),
    "lookAtMessage": Needed(_ON_TOPIC[Action.RECEIVE], "shows the groups that the token may do anything with"),
    "acknowledge": Needed(_BOTH[Action.SETTLE]),
    "giveBack": Needed(_BOTH[Action.SETTLE]),
    "extend": Needed(_BOTH[Action.SETTLE]),
    "listSchedules": Needed(_ON_TOPIC[Action.LOOK]),
    "putSchedule": Needed(_ON_TOPIC[Action.SEND], _SHOWN_MESSAGE),
    "updateSchedule": Needed(_ON_TOPIC[Action.SEND], _SHOWN_MESSAGE),
    "describeSchedule": Needed(_ON_TOPIC[Action.RECEIVE]),
    "deleteSchedule": Needed(_ON_TOPIC[Action.SEND]),
    "listScheduled": Needed(_ON_TOPIC[Action.LOOK], "shows keys, headers and tags to who has receive on it, too"),
    "lookAtScheduled": Needed(_ON_TOPIC[Action.RECEIVE]),
    "cancelScheduled": Needed(_ON_TOPIC[Action.SEND]),
    "moveScheduled": Needed(_ON_TOPIC[Action.SEND]),
    "readRecords": Needed(_ON_TOPIC[Action.RECEIVE]),
    "tailTopic": Needed(_ON_TOPIC[Action.RECEIVE]),
    "watchEvents": Needed(
        (Need((Action.LOOK,), On.ANYTHING),),
        "shows groups to who receives for them, too; nodes to who has look on the cluster; totals to who has it on all",
    ),
    "listTopics": Needed((Need((Action.LOOK,), On.ANYTHING),)),
    "putTopic": Needed(_ON_TOPIC[Action.MANAGE]),
    "updateTopic": Needed(_ON_TOPIC[Action.MANAGE]),
    "describeTopic": Needed(_ON_TOPIC[Action.LOOK]),
    "deleteTopic": Needed(_ON_TOPIC[Action.MANAGE]),
    "describePartition": Needed(_ON_TOPIC[Action.LOOK], "shows the groups that the token may do anything with"),
    "decommissionPartitions": Needed(_ON_TOPIC[Action.MANAGE]),
    "purgeTopic": Needed(_ON_TOPIC[Action.PURGE]),
    "deleteBefore": Needed(_ON_TOPIC[Action.PURGE]),
    "partitionState": Needed(_ON_TOPIC[Action.RECEIVE], "shows the groups that the token may look at"),
    "beginRestore": Needed((_topic(Action.MANAGE), _topic(Action.SEND))),
    "lookAtRestore": Needed(_ON_TOPIC[Action.MANAGE]),
    "restoreBatches": Needed(_ON_TOPIC[Action.SEND]),
    "restoreGroups": Needed(_ON_TOPIC[Action.MANAGE], "seek on each of `groups`"),
    "finishRestore": Needed(_ON_TOPIC[Action.MANAGE]),
    "compactTopic": Needed(_ON_TOPIC[Action.MANAGE]),
    "describeCompaction": Needed(_ON_TOPIC[Action.MANAGE]),
    "describeEncryption": Needed(_ON_TOPIC[Action.MANAGE], _MASTER_KEYS),
    "rotateDataKey": Needed(_ON_TOPIC[Action.MANAGE], _MASTER_KEYS),
    "latestOfKey": Needed(_ON_TOPIC[Action.RECEIVE]),
    "openProducer": Needed(_ON_TOPIC[Action.SEND]),
    "listGroups": Needed((Need((Action.LOOK,), On.ANYTHING),)),
    "putGroup": Needed((_group(Action.MANAGE),), _DEAD_LETTERS),
    "updateGroup": Needed((_group(Action.MANAGE),), _DEAD_LETTERS),
    "describeGroup": Needed((_group(Action.LOOK),)),
    "deleteGroup": Needed((_group(Action.MANAGE),)),
    "pauseGroup": Needed((_group(Action.MANAGE),), "manage on a `topic` that is named"),
    "resumeGroup": Needed((_group(Action.MANAGE),), "manage on a `topic` that is named"),
    "groupOffsets": Needed((_PROGRESS,), _SHOWN_TOPICS),
    "seekGroup": _SEEKS,
    "seekGroupByPost": _SEEKS,
    "groupDemand": Needed((_PROGRESS,), _SHOWN_TOPICS),
    "copyPosition": Needed(
        (_group(Action.SEEK),),
        "look or receive on the group `from`; look and seek on each of `topics`; without, "
        "shows topics that the token may look at, and copies where it may seek",
    ),
    "listBlocked": Needed((_PROGRESS,), f"{_SHOWN_TOPICS}; {_SHOWN_KEYS}"),
    "releaseBlocked": Needed(_BOTH[Action.SEEK], _SHOWN_KEYS),
    "skipBlocked": Needed(_BOTH[Action.SEEK], _SHOWN_KEYS),
    "startRedrive": Needed(
        (_group(Action.SEND), _group(Action.SETTLE), _topic(Action.SETTLE), _topic(Action.RECEIVE)),
        "the topic is that of the letters; send on `to`, or on wherever a letter came from",
    ),
    "listRedrives": Needed((_PROGRESS,), "shows jobs of topics that the token may do anything with"),
    "lookAtRedrive": Needed((_PROGRESS,)),
    "cancelRedrive": Needed((_group(Action.SEND),)),
    "listMembers": Needed((_PROGRESS,), "shows topics that the token may do anything with"),
    "joinGroup": Needed(_BOTH[Action.RECEIVE], "on each of `topics`; `patterns` are those of the token's rights"),
    "leaveGroup": Needed((_group(Action.RECEIVE),)),
    "heartbeat": Needed((_group(Action.RECEIVE),), "shows topics that the token may do anything with"),
    "lookAtCluster": Needed((Need((Action.LOOK,), On.CLUSTER),), "shows topics that the token may look at"),
    "planMoves": Needed((Need((Action.LOOK,), On.CLUSTER),), "look on topics of `moves`"),
    "drainNode": _STEERING,
    "stopDrainingNode": _STEERING,
    "reassignPartition": Needed(_ON_TOPIC[Action.MANAGE]),
    "cancelMove": Needed(_ON_TOPIC[Action.MANAGE]),
    "pauseMoves": _STEERING,
    "resumeMoves": _STEERING,
    "planUncleanElection": _UNCLEAN,
    "electUnclean": _UNCLEAN,
    "readAudit": Needed((_OF_AUDIT_LOG,)),
    "listTokens": _STEERING,
    "createToken": Needed(_STEERING.needs, _GIVING),
    "describeToken": _STEERING,
    "rotateToken": Needed(_STEERING.needs, _GIVING),
    "revokeToken": _STEERING,
    "describeOwnToken": Needed((), "any token"),
    "askOfOwnToken": Needed((), "any token"),
    "askOfToken": _STEERING,
    "listNamespaces": Needed((), "any token; shows the namespaces that the token may do anything in"),
    "putNamespace": _STEERING,
    "updateNamespace": _STEERING,
    "describeNamespace": Needed((), "anything in the namespace, or manage on the cluster"),
    "deleteNamespace": _STEERING,
    "isAlive": Needed((), "no token"),
    "isReady": Needed((), "no token"),
    "metrics": Needed((Need((Action.LOOK,), On.EVERYTHING),)),
}
"""By operation."""

_LOOKS_AT_AUDIT_LOG = frozenset({"describeTopic", "describePartition", "readRecords"})


def needs_of(operation: str, topic: str | None) -> tuple[Need, ...]:
    """Of a call about that topic; nothing where there is no such operation."""
    if topic == AUDIT_TOPIC and operation in _LOOKS_AT_AUDIT_LOG:
        return (_OF_AUDIT_LOG,)
    return NEEDED[operation].needs if operation in NEEDED else ()
