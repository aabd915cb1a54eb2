"""A watcher that takes what it is told, however seldom, knows in the end what is true of what it may see: against a
naive model, which keeps everything."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.auth.principal import ANYONE, Principal
from app.auth.right import Effect, Right
from app.auth.rights import rights_of
from app.events.audience import Audience
from app.events.change_table import ChangeTable
from app.events.event_pages import EventPages, EventReader
from app.events.thing import ThingKey, ThingKind
from cluster.model.action import Action

NAMES = [f"topic-{number}" for number in range(12)]
FEW = Principal(
    "few",
    rights_of(
        [
            Right(
                effect=Effect.ALLOW,
                actions=(Action.LOOK,),
                topics=("topic-1*",),
                groups=(),
                is_for_cluster=False,
                source="test",
            )
        ]
    ),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 3)),
        st.tuples(st.just("remove"), st.sampled_from(NAMES), st.just(0)),
        st.tuples(st.just("flush"), st.just(""), st.integers(1, 400)),
        st.tuples(st.just("read"), st.sampled_from(["all", "few"]), st.integers(1, 3)),
        st.tuples(st.just("resume"), st.sampled_from(["all", "few"]), st.just(0)),
    ),
    max_size=60,
)


class Watcher:
    """A client, by the contract: what is named replaces, what is removed is gone, a snapshot begins anew."""

    def __init__(self, pages: EventPages, principal: Principal) -> None:
        self._pages = pages
        self._audience = Audience(principal)
        self._reader: EventReader = pages.reader(self._audience)
        self.known: dict[str, int] = {}
        self.last_id = ""

    def read(self) -> bool:
        """Whether all was said that there is to say."""
        page = self._pages.next(self._reader)
        for block in page.text.decode().split("\n\n"):
            if block:
                fields = dict(line.split(": ", 1) for line in block.splitlines())
                self._take(json.loads(fields["data"]))
                self.last_id = fields["id"]
        return page.is_last

    def resume(self) -> None:
        self._reader = self._pages.reader(self._audience, self.last_id)

    def _take(self, data: dict[str, Any]) -> None:
        if data.get("first"):
            self.known.clear()
        for each in data.get("topics", []):
            self.known[each["name"]] = each["value"]
        for name in data.get("removed", {}).get("topics", []):
            self.known.pop(name, None)


@given(steps=STEPS, removed_max=st.integers(0, 4))
def test_who_reads_on_knows_what_is_true(steps: list[tuple[str, str, int]], removed_max: int) -> None:
    table = ChangeTable(removed_max=removed_max)
    pages = EventPages(table, run="run", pages_kept_max=3)
    watchers = {"all": Watcher(pages, ANYONE), "few": Watcher(pages, FEW)}
    true: dict[str, int] = {}
    for step, name, number in steps:
        key = ThingKey(ThingKind.TOPICS, name)
        match step:
            case "put":
                true[name] = number
                table.put(key, json.dumps({"name": name, "value": number, "of": "x" * 30_000}).encode())
            case "remove":
                true.pop(name, None)
                table.remove(key)
            case "flush":
                table.flush(bytes_max=number)
            case "read":
                for _ in range(number):
                    watchers[name].read()
            case _:
                watchers[name].resume()
    table.flush(bytes_max=None)
    for watcher in watchers.values():
        while not watcher.read():
            pass
        assert watcher.read()  # behind a snapshot there may be changes that came while it was read
    assert watchers["all"].known == true
    assert watchers["few"].known == {name: each for name, each in true.items() if name.startswith("topic-1")}
    assert sorted(key.topic for key in table.keys(ThingKind.TOPICS)) == sorted(true)
