"""What of a group is paused: the rules by which it changes. Pure.

A group is paused as a whole, or in some topics, or in some partitions of them; each lasts until it is resumed. There is
at most one pause of each topic, and one of the group.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from cluster.model.values import Pause

EVERY_TOPIC = ""
ALL_PARTITIONS: tuple[int, ...] = ()


def is_paused(pauses: Sequence[Pause], topic_id: str, partition: int) -> bool:
    return any(
        pause.topic_id in (EVERY_TOPIC, topic_id) and (not pause.partitions or partition in pause.partitions)
        for pause in pauses
    )


def with_pause(
    pauses: tuple[Pause, ...], topic_id: str, partitions: Sequence[int], *, now_ms: int
) -> tuple[Pause, ...]:
    """`partitions` empty: all of them, of those that come later too. What is paused already keeps its time."""
    known = next((pause for pause in pauses if pause.topic_id == topic_id), None)
    if known is None:
        return (*pauses, Pause(now_ms, topic_id, tuple(sorted(partitions))))
    wider = ALL_PARTITIONS
    if partitions and known.partitions:
        wider = tuple(sorted({*known.partitions, *partitions}))
    return tuple(replace(pause, partitions=wider) if pause is known else pause for pause in pauses)


def without_pause(
    pauses: tuple[Pause, ...], topic_id: str, partitions: Sequence[int], *, partition_count: int
) -> tuple[Pause, ...]:
    """All that is paused within what is named goes on. Of a topic that is paused as a whole, of `partition_count`
    partitions, the others stay paused; a topic of a group that is paused as a whole stays paused."""
    if topic_id == EVERY_TOPIC:
        return ()
    kept: list[Pause] = []
    for pause in pauses:
        if pause.topic_id != topic_id:
            kept.append(pause)
        elif partitions:
            paused = pause.partitions or tuple(range(partition_count))
            left = tuple(number for number in paused if number not in partitions)
            if left:
                kept.append(replace(pause, partitions=left))
    return tuple(kept)
