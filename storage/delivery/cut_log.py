"""What becomes of a group's state when its partition's log was cut below it, which takes an unclean election (rule R9).

Pure, and told in records that every version knows: a seek to where the group was in what is left, and then again what
it had done of that. So every receipt of before is stale, and a replay gives the same state anywhere.
"""

from itertools import groupby

from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.records import Acked, Cause, GroupRecord, Returned, ReturnedItem, Sought, pack_ranges


def records_of_cut(group: GroupSnapshot, log_end: int) -> list[GroupRecord]:
    """In the order of the log; none where the group knows nothing of `log_end` and what would be behind it."""
    if _known_below(group) <= log_end:
        return []
    generation, progress = group.generation + 1, min(group.progress, log_end)
    runs = pack_ranges((start, min(end, log_end)) for start, end in group.done if start < log_end)
    records: list[GroupRecord] = [
        Sought(group.group_id, generation, progress),
        Acked(group.group_id, generation, runs, min(group.delivered_below, log_end)),
    ]
    consumers = {offset: consumer for offset, _, consumer in group.failures}
    reasons = {(offset, each.attempt): each.reason for offset, said in group.reasons for each in said}
    kept = sorted((retry for retry in group.retries if retry[0] < log_end), key=lambda retry: (retry[3], retry[0]))
    for wall_ms, retries in groupby(kept, key=lambda retry: retry[3]):
        items = [
            ReturnedItem(
                offset,
                attempts,
                delay_ms,
                int(Cause.NACKED),
                leader_epoch,
                consumers.get(offset, ""),
                reasons.get((offset, attempts), ""),
            )
            for offset, attempts, leader_epoch, _, delay_ms in retries
        ]
        records.append(Returned(group.group_id, generation, wall_ms, items))
    return records


def _known_below(group: GroupSnapshot) -> int:
    """Every offset that the state speaks of is below."""
    ends = [end for _, end in [*group.done[-1:], *group.dead_lettered[-1:]]]
    return max(group.progress, group.delivered_below, *ends, *(retry[0] + 1 for retry in group.retries))
