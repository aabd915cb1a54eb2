"""Nobody gives what they do not have: who makes a token, or is shown a new secret of one, could use it."""

import re
from collections.abc import Iterable

from acklog.wire.name_patterns import covers, parts_of
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal, PrincipalKind
from app.auth.right import Effect, Right
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.sqs_queue import GROUP_PREFIX

_OF_OURS = frozenset({PrincipalKind.FILE, PrincipalKind.STORED})


def require_giving(giver: Principal, rights: Iterable[Right], *, until_ms: int | None) -> None:
    """Each pattern that is given is one that the giver has, or of a namespace of which the giver has the action on
    everything, or the giver has it everywhere; and nothing is given for longer than the giver has it (`until_ms` None:
    for ever). Whom others vouch for has it beyond the end of what is shown now. Raises ServerError FORBIDDEN."""
    ends_ms = giver.expires_at_ms if giver.kind in _OF_OURS else None
    if ends_ms is not None and (until_ms is None or until_ms > ends_ms):
        detail = f"the token ends at {ends_ms} itself, and cannot give anything for longer"
        raise ServerError(ProblemCode.FORBIDDEN, detail, field="expiresAt")
    for right in rights:
        if right.effect is Effect.DENY:
            continue
        for action in right.actions:
            _require_all(action, "topics", right.topics, giver.topic_patterns(action) if right.topics else None)
            if right.topics:
                _require_groups_of_queues(giver, action)
            _require_all(action, "groups", right.groups, giver.group_patterns(action) if right.groups else None)
            if right.is_for_cluster:
                giver.require_on_cluster(action)


def _require_groups_of_queues(giver: Principal, action: Action) -> None:
    """A right on topics is one on the groups that queues of SQS have of theirs: nobody gives by it what is denied to
    them of such a group."""
    denied = giver.rights.groups.denied_with(action.bit)
    if any(_may_be_of_queue(pattern) for pattern in denied):
        detail = f"the token is denied {action.value} on groups of queues, which rights on topics give"
        raise ServerError(ProblemCode.FORBIDDEN, detail)


def _may_be_of_queue(pattern: str) -> bool:
    """Whether the pattern may be for the group of some queue, as far as its beginning tells."""
    plain = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    may_begin_so = plain.startswith(GROUP_PREFIX) or (plain != pattern and GROUP_PREFIX.startswith(plain))
    return may_begin_so and len(parts_of(pattern)) == 1


def _require_all(action: Action, kind: str, given: tuple[str, ...], own: tuple[str, ...] | None) -> None:
    for pattern in given:
        if own is not None and not any(covers(each, pattern) for each in own):
            detail = f"the token has no right itself to {action.value} on {kind} {pattern!r}, and cannot give it"
            raise ServerError(ProblemCode.FORBIDDEN, detail)
