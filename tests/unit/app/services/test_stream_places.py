"""How many streams there may be, of all and of one token."""

from contextlib import ExitStack

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.rights import rights_of
from app.gateway.exposition import SteppedRegistry
from app.gateway.stream_figures import TAIL, StreamFigures
from app.services.stream_places import StreamPlaces
from cluster.errors import ServerError

ADA = Principal("ada", rights_of(()))


def refusal(places: StreamPlaces, principal: Principal) -> str:
    with pytest.raises(ServerError) as refused, places.one_more(principal):
        pass
    assert (refused.value.code, refused.value.retry_after_ms) == (ProblemCode.TOO_MANY_WATCHERS, 5_000)
    return refused.value.detail


def test_one_token_leaves_room_and_a_limit_that_changes_counts_at_once() -> None:
    limit = 10
    registry, figures = SteppedRegistry(), StreamFigures()
    registry.register(figures)
    places = StreamPlaces(lambda: limit, setting="--tails-max", stream=TAIL, figures=figures)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(places.one_more(ADA))
        assert refusal(places, ADA).startswith("8 streams of this token")
        for _ in range(2):
            stack.enter_context(places.one_more(ANYONE))
        assert refusal(places, ANYONE) == "10 streams are served already, as --tails-max allows"
        assert registry.get_sample_value("acklog_streams", {"stream": TAIL}) == 10
        assert registry.get_sample_value("acklog_streams_refused_total", {"stream": TAIL}) == 2
        limit = 11
        stack.enter_context(places.one_more(ANYONE))
    assert places.count == 0
    assert registry.get_sample_value("acklog_streams", {"stream": TAIL}) == 0
