"""The allowance for request bodies: what has come counts, and nobody gets all of it (rule R38)."""

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.rights import rights_of
from app.http.exchange.bytes_in_flight import BytesInFlight, Hold
from cluster.errors import ServerError

ALICE = Principal("alice", rights_of(()))
BOB = Principal("bob", rights_of(()))


def allowance(share_percent: int = 50, body_bytes_max: int = 10) -> BytesInFlight:
    return BytesInFlight(100, share_percent=share_percent, body_bytes_max=body_bytes_max)


def whole(of: BytesInFlight, principal: Principal, size_bytes: int) -> Hold:
    hold = of.hold(principal)
    hold.completed()
    hold.grow_to(size_bytes)
    return hold


def refused(hold: Hold, size_bytes: int) -> None:
    before = hold.size_bytes
    with pytest.raises(ServerError) as caught:
        hold.grow_to(size_bytes)
    assert caught.value.code is ProblemCode.OVERLOADED
    assert caught.value.retry_after_ms
    assert hold.size_bytes == before


def test_the_limit_is_that_of_all() -> None:
    bodies = allowance()
    first = whole(bodies, ANYONE, 100)
    refused(bodies.hold(ANYONE), 1)
    first.release()
    first.release()
    assert bodies.held_bytes == 0
    whole(bodies, ANYONE, 100)


def test_bodies_that_do_not_go_on_leave_room_for_whole_ones() -> None:
    bodies = allowance()
    stalled = bodies.hold(ANYONE)
    stalled.grow_to(50)
    refused(stalled, 51)
    refused(bodies.hold(ANYONE), 1)
    other = whole(bodies, ANYONE, 50)
    other.release()
    stalled.completed()
    assert bodies.arriving_bytes == 0
    bodies.hold(ANYONE).grow_to(50)


def test_one_that_goes_before_it_is_whole_gives_everything_back() -> None:
    bodies = allowance()
    stalled = bodies.hold(ALICE)
    stalled.grow_to(20)
    stalled.release()
    assert (bodies.held_bytes, bodies.arriving_bytes) == (0, 0)
    whole(bodies, ALICE, 50)


def test_one_token_leaves_room_for_the_others() -> None:
    bodies = allowance()
    held = [whole(bodies, ALICE, 25), whole(bodies, ALICE, 25)]
    more = bodies.hold(ALICE)
    more.completed()
    refused(more, 1)
    whole(bodies, BOB, 50)
    held[0].release()
    more.grow_to(25)


def test_the_largest_body_always_fits_into_a_share() -> None:
    allowance(share_percent=1, body_bytes_max=80).hold(ALICE).grow_to(80)
