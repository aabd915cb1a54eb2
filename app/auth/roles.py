"""Named sets of rights. Those of Acklog's own say no topics and groups: they are for those of the token,
but for what is the cluster's alone."""

from collections.abc import Mapping, Sequence

from cluster.model.action import Action
from cluster.model.right_entry import RightEntry

PRODUCER = "producer"
CONSUMER = "consumer"
VIEWER = "viewer"
OPERATOR = "operator"
AUDITOR = "auditor"
ADMIN = "admin"

Role = Sequence[RightEntry]

BUILT_IN: Mapping[str, Role] = {
    PRODUCER: (RightEntry(allow=(Action.SEND,)),),
    CONSUMER: (RightEntry(allow=(Action.RECEIVE, Action.SETTLE, Action.LOOK)),),
    VIEWER: (RightEntry(allow=(Action.LOOK,)),),
    OPERATOR: (RightEntry(allow=(Action.LOOK, Action.SEEK, Action.MANAGE)),),
    AUDITOR: (RightEntry(allow=(Action.AUDIT,), cluster=True),),
    ADMIN: (RightEntry(allow=tuple(Action)),),
}
