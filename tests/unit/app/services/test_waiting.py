"""How many requests may wait, of all and of one token."""

from contextlib import ExitStack

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.rights import rights_of
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError

ADA, BOB = (Principal(name, rights_of(())) for name in ("ada", "bob"))


def refusal(waiting: WaitingRequests, principal: Principal) -> str:
    with pytest.raises(ServerError) as refused, waiting.one_more(principal):
        pass
    assert (refused.value.code, refused.value.retry_after_ms) == (ProblemCode.TOO_MANY_WAITING, 1000)
    return refused.value.detail


def test_one_token_leaves_room_for_the_others() -> None:
    waiting = WaitingRequests(10, share_percent=80)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(waiting.one_more(ADA))
        assert refusal(waiting, ADA).startswith("8 requests of this token are waiting already")
        for _ in range(2):
            stack.enter_context(waiting.one_more(BOB))
        assert refusal(waiting, BOB).startswith("10 requests are waiting already")
        assert waiting.count == 10
    assert waiting.count == 0
    with waiting.one_more(ADA):
        assert waiting.count == 1


def test_where_there_are_no_tokens_there_are_no_shares() -> None:
    waiting = WaitingRequests(3, share_percent=1)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(waiting.one_more(ANYONE))
        assert refusal(waiting, ANYONE).startswith("3 requests")


def test_a_share_is_one_at_least() -> None:
    with WaitingRequests(10, share_percent=1).one_more(ADA):
        pass
