"""Whatever etcd sends, and wherever a stream breaks: no gap, no duplicate, no half revision."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.failures import EtcdFailure
from cluster.etcd.watch_cursor import StreamBrokenError, WatchCursor
from cluster.ports.coordination import Changed, CompactedError, KeyValue, Removed, WatchBatch

Answer = messages.WatchResponse


def put(revision: int, key: str = "/a") -> messages.Event:
    item = messages.KeyValue(
        key=key.encode(), value=b"v", create_revision=revision, mod_revision=revision, version=1, lease=5
    )
    return messages.Event(type=messages.Event.PUT, kv=item)


def delete(revision: int, key: str = "/a") -> messages.Event:
    return messages.Event(type=messages.Event.DELETE, kv=messages.KeyValue(key=key.encode(), mod_revision=revision))


def progress(revision: int, *, watch_id: int = 0, created: bool = False) -> messages.WatchResponse:
    return Answer(header=messages.ResponseHeader(revision=revision), watch_id=watch_id, created=created)


def start_of(cursor: WatchCursor) -> int:
    return cursor.begin().create_request.start_revision


def test_what_it_asks_for() -> None:
    create = WatchCursor("/acklog/", 10).begin().create_request
    assert (create.key, create.range_end) == (b"/acklog/", b"/acklog0")
    assert create.start_revision == 9, "one more than needed: deletions of a compacted revision are not relied on"
    assert create.progress_notify
    assert create.fragment
    assert start_of(WatchCursor("/", 1)) == start_of(WatchCursor("/", 0)) == 1
    everything = WatchCursor("", 10).begin().create_request
    assert (everything.key, everything.range_end) == (b"\0", b"\0")


def test_events_become_batches_by_revision() -> None:
    cursor = WatchCursor("/", 10)
    answer = Answer(events=[put(10), delete(12, "/b"), put(12, "/c")])
    assert cursor.accept(answer) == [
        WatchBatch(10, (Changed(KeyValue("/a", b"v", 10, 10, 1, 5)),)),
        WatchBatch(12, (Removed("/b", 12), Changed(KeyValue("/c", b"v", 12, 12, 1, 5)))),
    ]
    assert cursor.next_revision == 13


def test_what_was_not_asked_for_is_left_out() -> None:
    cursor = WatchCursor("/", 10)
    assert [batch.revision for batch in cursor.accept(Answer(events=[delete(9), put(10)]))] == [10]
    assert cursor.accept(Answer(events=[put(9), put(10)])) == []


def test_a_split_revision_is_handed_over_whole() -> None:
    cursor = WatchCursor("/", 10)
    assert [batch.revision for batch in cursor.accept(Answer(events=[put(10), put(11, "/a")], fragment=True))] == [10]
    assert cursor.next_revision == 11
    assert cursor.accept(Answer(events=[put(11, "/b")], fragment=True)) == []
    [batch] = cursor.accept(Answer(events=[put(11, "/c")]))
    assert [event.item.key for event in batch.events if isinstance(event, Changed)] == ["/a", "/b", "/c"]


def test_a_revision_that_broke_in_the_middle_is_asked_for_again() -> None:
    cursor = WatchCursor("/", 10)
    cursor.accept(Answer(events=[put(10), put(11, "/a")], fragment=True))
    assert start_of(cursor) == 10
    [batch] = cursor.accept(Answer(events=[put(10), put(11, "/a"), put(11, "/b")]))
    assert (batch.revision, len(batch.events)) == (11, 2)


def test_progress_moves_an_idle_watch_on() -> None:
    cursor = WatchCursor("/", 10)
    cursor.accept(progress(40))
    assert cursor.next_revision == 41
    cursor.accept(progress(30))
    assert cursor.next_revision == 41


def test_progress_that_may_have_overtaken_events_does_not() -> None:
    cursor = WatchCursor("/", 10)
    cursor.accept(progress(40, created=True))
    cursor.accept(progress(40, watch_id=-1))  # the answer to our own question
    assert cursor.next_revision == 10
    cursor.accept(Answer(events=[put(10)], fragment=True))
    cursor.accept(progress(40))
    assert cursor.next_revision == 10


def test_compaction_names_the_first_revision_that_can_be_relied_on() -> None:
    with pytest.raises(CompactedError) as caught:
        WatchCursor("/", 10).accept(Answer(canceled=True, compact_revision=20))
    assert caught.value.oldest_revision == 21
    assert start_of(WatchCursor("/", 21)) == 20, "which etcd still serves"


def test_a_cancelled_watch_says_why() -> None:
    for reason, failure in (("etcdserver: permission denied", EtcdFailure.DENIED), ("", EtcdFailure.UNKNOWN)):
        with pytest.raises(StreamBrokenError) as caught:
            WatchCursor("/", 10).accept(Answer(canceled=True, created=True, cancel_reason=reason))
        assert caught.value.failure is failure


def test_a_split_answer_out_of_order_is_not_believed() -> None:
    with pytest.raises(StreamBrokenError):
        WatchCursor("/", 10).accept(Answer(events=[put(12), put(11)]))


@given(data=st.data())
def test_any_splitting_and_any_breaks_give_the_whole_history_once(data: st.DataObject) -> None:
    """etcd as a list of events; streams of random answers, cut at random places, each resumed by the next."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=12))
    history = [put(revision, f"/{number}") for revision, size in enumerate(sizes, 2) for number in range(size)]
    start = data.draw(st.integers(1, len(sizes) + 2))
    cursor = WatchCursor("/", start)
    seen: list[WatchBatch] = []
    streams = data.draw(st.integers(0, 5))
    for stream in range(streams + 1):
        from_revision = start_of(cursor)
        left = [event for event in history if event.kv.mod_revision >= from_revision]
        while left and (stream == streams or data.draw(st.booleans())):
            size = data.draw(st.integers(1, len(left)))
            sent, left = left[:size], left[size:]
            is_cut = bool(left) and left[0].kv.mod_revision == sent[-1].kv.mod_revision
            seen += cursor.accept(Answer(events=sent, fragment=is_cut or (bool(left) and data.draw(st.booleans()))))
    expected = [(revision, size) for revision, size in enumerate(sizes, 2) if revision >= start]
    assert [(batch.revision, len(batch.events)) for batch in seen] == expected
