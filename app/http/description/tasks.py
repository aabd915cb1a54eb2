"""Calls by what a person wants to do, in the order in which `/docs` shows them. A test demands each in one place."""

from typing import NamedTuple


class Task(NamedTuple):
    """`operations` are ids of calls, the most usual first."""

    title: str
    description: str
    operations: tuple[str, ...]


TASKS = (
    Task("Send", "A message is on disk when the answer comes.", ("sendMessages", "openProducer")),
    Task(
        "Receive and settle",
        "A group leases messages, and says of each whether it is done.",
        ("receiveMessages", "acknowledge", "giveBack", "extend"),
    ),
    Task(
        "Look and follow",
        "Messages as they are kept, without a lease; what became of one; and what comes.",
        ("lookAtMessage", "latestOfKey", "readRecords", "tailTopic"),
    ),
    Task(
        "Later, again and again",
        "Messages that are seen at a time, and those that schedules send.",
        (
            "listScheduled",
            "lookAtScheduled",
            "moveScheduled",
            "cancelScheduled",
            "listSchedules",
            "putSchedule",
            "updateSchedule",
            "describeSchedule",
            "deleteSchedule",
        ),
    ),
    Task(
        "Topics",
        "Made, changed, emptied, deleted.",
        (
            "listTopics",
            "putTopic",
            "describeTopic",
            "updateTopic",
            "deleteTopic",
            "describePartition",
            "decommissionPartitions",
            "purgeTopic",
            "deleteBefore",
            "compactTopic",
            "describeCompaction",
            "describeEncryption",
            "rotateDataKey",
        ),
    ),
    Task(
        "Groups",
        "How a group shares its topics, and whether it rests.",
        ("listGroups", "putGroup", "describeGroup", "updateGroup", "deleteGroup", "pauseGroup", "resumeGroup"),
    ),
    Task(
        "Progress",
        "How far a group is, how much it has to do, and moving it.",
        ("groupOffsets", "groupDemand", "seekGroup", "seekGroupByPost", "copyPosition"),
    ),
    Task(
        "What failed",
        "Messages that wait for a decision, and dead letters that are sent back.",
        (
            "listBlocked",
            "releaseBlocked",
            "skipBlocked",
            "startRedrive",
            "listRedrives",
            "lookAtRedrive",
            "cancelRedrive",
        ),
    ),
    Task(
        "Members of exclusive groups",
        "Who owns which partition.",
        ("listMembers", "joinGroup", "heartbeat", "leaveGroup"),
    ),
    Task(
        "Watch the server",
        "Whether it is well, what changes, and who did what.",
        ("watchEvents", "isAlive", "isReady", "metrics", "readAudit"),
    ),
    Task(
        "Tokens and namespaces",
        "Who may do what, and where.",
        (
            "describeOwnToken",
            "askOfOwnToken",
            "listTokens",
            "createToken",
            "describeToken",
            "askOfToken",
            "rotateToken",
            "revokeToken",
            "listNamespaces",
            "putNamespace",
            "updateNamespace",
            "describeNamespace",
            "deleteNamespace",
        ),
    ),
    Task(
        "The cluster",
        "Its nodes, and where replicas are.",
        (
            "lookAtCluster",
            "planMoves",
            "drainNode",
            "stopDrainingNode",
            "reassignPartition",
            "cancelMove",
            "pauseMoves",
            "resumeMoves",
            "planUncleanElection",
            "electUnclean",
        ),
    ),
    Task(
        "Backups",
        "Copies of topics that are taken, and put back. `acklog backup` does all of it.",
        ("partitionState", "beginRestore", "lookAtRestore", "restoreBatches", "restoreGroups", "finishRestore"),
    ),
)
