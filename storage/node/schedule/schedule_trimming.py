"""Keeps a schedule log short: what is over is removed from its beginning, and where little of the log is still pending,
that is written anew at its end, so that the rest can go. Names of messages do not change by it."""

import asyncio

from cluster.ports.clock import Clock
from storage.node.schedule.schedule_host import ScheduleHost
from storage.schedule.changes import Kept, Note
from storage.schedule.entries import Due, ScheduledEntry
from storage.schedule.schedule_settings import ScheduleSettings

WASTE_MAX = 4
"""The log is written anew when it is so many times as large as what is pending."""


async def keep_short(host: ScheduleHost, clock: Clock, settings: ScheduleSettings) -> None:
    """Of the leader, now and then. Raises ServerError, IndexFailedError: the next time goes on."""
    log = host.scheduled.log
    if not host.is_ready or log.size_bytes <= settings.log_bytes_min:
        return
    for _ in range(settings.rewritten_batches_max):
        if WASTE_MAX * host.keeper.state.pending_bytes + settings.log_bytes_min >= log.size_bytes:
            break
        if not await _write_anew(host, settings):
            break
        await _remove(host, clock)
    await _remove(host, clock)


async def _write_anew(host: ScheduleHost, settings: ScheduleSettings) -> bool:
    """What stands first in the log; whether there was anything. What is on its way to be delivered or changed stays
    where it is until the next time."""
    found = await host.keeper.oldest(settings.due_messages_max)
    held = [entry for entry in found if host.turns.hold(entry.id)]
    try:
        still = {entry.id: entry for entry in await host.keeper.oldest(settings.due_messages_max)}
        entries = _as_much_as_fits([entry for entry in held if still.get(entry.id) == entry], settings.due_bytes_max)
        notes: list[Note] = [_kept(due) for due in await host.keeper.read(entries)]
        if notes:
            await host.keeper.wait_applied(await host.writer.write(*notes))
        return bool(notes)
    finally:
        for entry in held:
            host.turns.release(entry.id)


def _as_much_as_fits(entries: list[ScheduledEntry], bytes_max: int) -> list[ScheduledEntry]:
    size_bytes = 0
    for count, entry in enumerate(entries):
        size_bytes += entry.size_bytes
        if count and size_bytes > bytes_max:
            return entries[:count]
    return entries


def _kept(due: Due) -> Kept:
    entry = due.entry
    return Kept(entry.id, entry.epoch, entry.due_ms, entry.order, due.record)


async def _remove(host: ScheduleHost, clock: Clock) -> None:
    """Whole segments that hold nothing pending. Up to where all is recorded is noted first: the notes go, too; and
    idempotency keys stay for their window (rule R28)."""
    log = host.scheduled.log
    oldest = await host.keeper.oldest(1)
    end = oldest[0].position if oldest else host.keeper.state.applied
    if end <= log.log_start:
        return
    await host.note_passed()
    await host.recurring.write_anew(end)
    await host.adoptions.write_anew()
    before = log.log_start
    await log.retain(
        retention_ms=0,
        retention_bytes=-1,
        not_after_offset=min(end, host.scheduled.high_watermark),
        keep_keyed_after_ms=clock.now_ms() - host.scheduled.topic.config.dedup_window_ms,
    )
    if log.log_start > before:
        host.leadership.log_moved()  # followers hear of it, also where nothing is sent any more
        await host.keeper.forget_settled()
    await asyncio.sleep(0)
