import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.workers.supervision import (
    Announce,
    End,
    Ending,
    Kill,
    Order,
    Start,
    StartLater,
    Stop,
    Supervision,
    SupervisionSettings,
)
from app.workers.worker_names import STORAGE
from cluster.backoff import Backoff

SETTINGS = SupervisionSettings(
    restarts=Backoff(first_ms=200, max_ms=1_000),
    proven_ms=60_000,
    gateway_stop_ms=40_000,
    orphaned_stop_ms=5_000,
    storage_stop_ms=120_000,
)
GATEWAYS = ["gateway-1", "gateway-2"]
KILLED = Ending(-signal.SIGKILL)
WELL = Ending(0)


def supervision() -> Supervision:
    return Supervision(GATEWAYS, SETTINGS)


def serving(now_ms: int = 0) -> Supervision:
    """One of which everything serves."""
    made = supervision()
    made.begin()
    made.serves(STORAGE, now_ms)
    for name in GATEWAYS:
        made.serves(name, now_ms)
    return made


def test_the_storage_comes_first_and_the_first_gateway_is_the_servers_beginning() -> None:
    made = supervision()
    assert made.begin() == [Start(STORAGE)]
    assert made.serves(STORAGE, 1) == [Start("gateway-1"), Start("gateway-2")]
    assert made.serves("gateway-2", 2) == [Announce()]
    assert made.serves("gateway-1", 3) == []
    assert made.next_look_ms is None


def test_gateways_stop_before_the_storage() -> None:
    made = serving()
    assert made.stop(10) == [Stop("gateway-1"), Stop("gateway-2")]
    assert made.stop(11) == [], "asked for twice it is one"
    assert made.ended("gateway-2", WELL, 20) == []
    assert made.ended("gateway-1", WELL, 30) == [Stop(STORAGE)]
    assert made.ended(STORAGE, WELL, 40) == [End(0, "")]


def test_a_gateway_that_does_not_stop_is_killed_once_at_its_limit() -> None:
    made = serving()
    made.stop(0)
    made.ended("gateway-1", WELL, 1)
    assert made.next_look_ms == SETTINGS.gateway_stop_ms
    assert made.look(SETTINGS.gateway_stop_ms - 1) == []
    assert made.look(SETTINGS.gateway_stop_ms) == [Kill("gateway-2")]
    assert made.look(SETTINGS.gateway_stop_ms + 100_000) == []
    assert made.ended("gateway-2", KILLED, SETTINGS.gateway_stop_ms + 1) == [Stop(STORAGE)]
    [end] = made.ended(STORAGE, WELL, SETTINGS.gateway_stop_ms + 2)
    assert end == End(1, "gateway-2 had to be killed: it did not stop in time")


def test_a_storage_that_does_not_stop_is_killed_at_its_limit() -> None:
    made = serving()
    made.stop(0)
    for name in GATEWAYS:
        made.ended(name, WELL, 0)
    assert made.look(SETTINGS.storage_stop_ms) == [Kill(STORAGE)]
    assert made.ended(STORAGE, KILLED, SETTINGS.storage_stop_ms) == [
        End(1, "The storage process was killed by SIGKILL")
    ]


def test_in_a_hurry_gateways_are_not_waited_for() -> None:
    made = serving()
    made.stop(0)
    assert made.hurry() == [Kill("gateway-1"), Kill("gateway-2")]
    for name in GATEWAYS:
        last = made.ended(name, KILLED, 1)
    assert last == [Stop(STORAGE)]
    assert made.ended(STORAGE, WELL, 2) == [End(0, "")], "it was asked for"


def test_a_gateway_that_ends_is_started_again_at_once_and_then_ever_later() -> None:
    made = serving()
    pauses = []
    now_ms = 1_000
    for _ in range(6):
        [order] = made.ended("gateway-1", KILLED, now_ms)
        assert isinstance(order, StartLater)
        pauses.append(order.pause_ms)
        assert made.next_look_ms == now_ms + order.pause_ms
        now_ms += order.pause_ms
        assert made.look(now_ms) == [Start("gateway-1")]
        made.serves("gateway-1", now_ms)
        now_ms += 100
    assert pauses == [0, 200, 400, 800, 1_000, 1_000]


@pytest.mark.parametrize(("served_ms", "pause_ms"), [(59_999, 400), (60_000, 0)])
def test_one_that_has_served_for_long_is_started_again_at_once(served_ms: int, pause_ms: int) -> None:
    made = serving()
    now_ms = 0
    for _ in range(2):
        [order] = made.ended("gateway-1", KILLED, now_ms)
        assert isinstance(order, StartLater)
        now_ms += order.pause_ms
        made.look(now_ms)
        made.serves("gateway-1", now_ms)
    [order] = made.ended("gateway-1", KILLED, now_ms + served_ms)
    assert order == StartLater("gateway-1", KILLED, pause_ms)


def test_one_that_ended_before_any_served_ends_the_start() -> None:
    made = supervision()
    made.begin()
    made.serves(STORAGE, 0)
    assert made.ended("gateway-1", Ending(2), 1) == [Stop("gateway-2")]
    assert made.ended("gateway-2", Ending(2), 1) == [Stop(STORAGE)]
    assert made.ended(STORAGE, WELL, 2) == [End(2, "gateway-1 ended with exit code 2 before it served")]


@pytest.mark.parametrize(
    ("ending", "code", "how"),
    [
        (KILLED, 1, "was killed by SIGKILL"),
        (Ending(1), 1, "ended with exit code 1"),
        (WELL, 1, "ended with exit code 0"),
    ],
)
def test_the_end_of_the_storage_is_that_of_all(ending: Ending, code: int, how: str) -> None:
    made = serving()
    made.ended("gateway-2", KILLED, 0)
    assert made.ended(STORAGE, ending, 10) == [Stop("gateway-1")]
    assert made.next_look_ms == 10 + SETTINGS.orphaned_stop_ms, "nobody is started again"
    assert made.ended("gateway-1", WELL, 11) == [End(code, f"The storage process {how}")]


def test_a_storage_that_cannot_start_says_with_its_exit_code() -> None:
    made = supervision()
    made.begin()
    assert made.ended(STORAGE, Ending(2), 5) == [End(2, "The storage process ended with exit code 2")]


def test_a_stop_while_the_storage_starts() -> None:
    made = supervision()
    made.begin()
    assert made.stop(0) == [Stop(STORAGE)]
    assert made.serves(STORAGE, 1) == [], "gateways are not begun any more"
    assert made.ended(STORAGE, WELL, 2) == [End(0, "")]


@given(st.data())
def test_whatever_happens_it_comes_to_an_end_and_the_storage_goes_last(data: st.DataObject) -> None:
    """Workers serve and end at any time, some of them never by themselves: behind a stop all of them are gone by the
    limits, and nothing is started."""
    made = supervision()
    there: dict[str, bool] = {}
    ends: list[End] = []
    now_ms = 0
    is_stopping = False

    def obey(orders: list[Order]) -> None:
        for order in orders:
            if isinstance(order, Start):
                assert order.worker not in there, "it runs already"
                assert order.worker == STORAGE or STORAGE in there
                assert not is_stopping
                there[order.worker] = False
            elif isinstance(order, Kill):
                del there[order.worker]
                obey(made.ended(order.worker, KILLED, now_ms))
            elif isinstance(order, Stop):
                assert order.worker in there
                assert order.worker != STORAGE or list(there) == [STORAGE]
            elif isinstance(order, End):
                assert not there
                ends.append(order)

    obey(made.begin())
    for _ in range(data.draw(st.integers(0, 20))):
        if ends or not there:
            break
        now_ms += data.draw(st.sampled_from([0, 1, 500, 70_000]))
        worker = data.draw(st.sampled_from(sorted(there)))
        if there[worker] or data.draw(st.booleans()):
            del there[worker]
            is_stopping = is_stopping or worker == STORAGE or not made_has_served(there)
            obey(made.ended(worker, Ending(data.draw(st.sampled_from([0, 1, -9]))), now_ms))
        else:
            there[worker] = True
            obey(made.serves(worker, now_ms))
        is_stopping = made.is_stopping
        obey(made.look(now_ms))
    if not ends:
        is_stopping = True
        obey(made.stop(now_ms))
    for _ in range(10):
        if not ends:
            assert made.next_look_ms is not None
            now_ms = made.next_look_ms
            obey(made.look(now_ms))
    assert len(ends) == 1
    assert made.next_look_ms is None


def made_has_served(there: dict[str, bool]) -> bool:
    return any(there.values())
