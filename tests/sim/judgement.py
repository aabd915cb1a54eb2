"""Which checkers judge a history: all, as far as its options let them hold."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from cluster.model.values import GroupMode
from tests.sim.blocked_checkers import NothingIsGivenUp, OthersGoOn, WhatIsBlockedWaits
from tests.sim.checkers import Checker
from tests.sim.delay_checkers import ALL_DELAYED
from tests.sim.delivery_checkers import (
    AcknowledgedIsNeverDeliveredAgain,
    AttemptsAreLimited,
    AutoAckedIsDeliveredOnce,
    DeadLettersAreOnce,
    EverythingIsDoneInTheEnd,
    OneLeaseAtATime,
    ProgressNeverFalls,
    ReplayEqualsLiveState,
    StaleReceiptsAreRefused,
)
from tests.sim.filter_checkers import FilteredPagesLeaveOutNothing, OnlyWhatMatchesIsDelivered
from tests.sim.log_checkers import (
    AcknowledgedIsInTheLog,
    DuplicatesGetTheFirstAnswer,
    EpochsNeverFall,
    HighWatermarkNeverFalls,
    LogHasNoGaps,
    LogNeverChanges,
    NothingAboveTheHighWatermark,
    NothingAppearsByItself,
    NothingTwice,
    SendersKeepTheirOrder,
)
from tests.sim.options import Options
from tests.sim.order_checkers import KeysAreInOrder, KeysStayInOrderWhereTheyMove, PartitionsAreInOrder
from tests.sim.owner_checkers import (
    EarlierOwnersAreRefused,
    OneOwnerAtATime,
    OwnersAreWaitedFor,
    OwnershipsAreOneProcesses,
)
from tests.sim.pause_checkers import PausedIsNotDelivered
from tests.sim.reader_checkers import AcknowledgedIsReadable, PagesBeginWhereTheyWereAsked, ReadersNeverSeeTheEndFall
from tests.sim.seek_checkers import ReceiptsFromBeforeASeekAreStale, SeeksAreNotForgotten
from tests.sim.static_checkers import StaticNamesAreOneProcesses

OF_WHAT_IS_LEFT: tuple[Checker, ...] = (ReplayEqualsLiveState(), *ALL_DELAYED)


def checkers_for(
    options: Options,
    *,
    groups: Iterable[str],
    dead_letter_queues: dict[tuple[str, str], str],
    has_final_looks: bool,
) -> list[Checker]:
    """`has_final_looks` False: the run did not come to its end, which is a violation already; what needs the whole log
    is left out."""
    window_ms = options.server.dedup_window_ms if options.dedup_is_exact else 0
    max_attempts = dict.fromkeys(groups, options.server.max_attempts)
    blocking = options.blocking_groups
    without_letters = options.groups_without_letters
    given_up_after: Mapping[str, float] = {**max_attempts, **dict.fromkeys(without_letters, math.inf)}
    unnoticed_ms = max(options.contact_ms, options.registration_ttl_ms)
    exclusive = options.ordered(GroupMode.EXCLUSIVE)
    order: dict[str, Any] = {
        "max_attempts": given_up_after,
        "dead_letter_queues": dead_letter_queues,
        "unnoticed_ms": unnoticed_ms,
    }
    checkers: list[Checker] = [
        DuplicatesGetTheFirstAnswer(dedup_window_ms=window_ms),
        SendersKeepTheirOrder(),
        LogNeverChanges(),
        LogHasNoGaps(),
        HighWatermarkNeverFalls(),
        EpochsNeverFall(),
        OneLeaseAtATime(
            clock_drift=options.clock_drift, ordered_groups=[group.name for group in options.ordered_groups]
        ),
        StaleReceiptsAreRefused(max_attempts=given_up_after, dead_letter_queues=dead_letter_queues),
        AcknowledgedIsNeverDeliveredAgain(unnoticed_ms=unnoticed_ms),
        AttemptsAreLimited(max_attempts=max_attempts),
        AutoAckedIsDeliveredOnce(),
        ProgressNeverFalls(),
        SeeksAreNotForgotten(),
        ReceiptsFromBeforeASeekAreStale(max_attempts=given_up_after, dead_letter_queues=dead_letter_queues),
        OwnershipsAreOneProcesses(),
        OneOwnerAtATime(exclusive, unnoticed_ms=unnoticed_ms),
        EarlierOwnersAreRefused(exclusive, max_attempts=given_up_after, dead_letter_queues=dead_letter_queues),
        OwnersAreWaitedFor(exclusive, clock_drift=options.clock_drift),
        StaticNamesAreOneProcesses(exclusive, clock_drift=options.clock_drift),
        PausedIsNotDelivered(unnoticed_ms=unnoticed_ms),
        OnlyWhatMatchesIsDelivered(unnoticed_ms=unnoticed_ms),
        WhatIsBlockedWaits(blocking, unnoticed_ms=unnoticed_ms),
        AcknowledgedIsReadable(),
        PagesBeginWhereTheyWereAsked(),
        ReadersNeverSeeTheEndFall(),
    ]
    if has_final_looks:
        checkers += [
            AcknowledgedIsInTheLog(),
            NothingAppearsByItself(ignored_queues=dead_letter_queues.values()),
            NothingTwice(dedup_window_ms=window_ms, ignored_queues=dead_letter_queues.values()),
            NothingAboveTheHighWatermark(),
            FilteredPagesLeaveOutNothing(),
            EverythingIsDoneInTheEnd(dead_letter_queues=dead_letter_queues),
            NothingIsGivenUp(without_letters, dead_letter_queues=dead_letter_queues),
            OthersGoOn(blocking, dead_letter_queues=dead_letter_queues),
            *OF_WHAT_IS_LEFT,
            KeysAreInOrder(options.ordered(GroupMode.KEY_ORDERED), **order),
            KeysStayInOrderWhereTheyMove([group.name for group in options.ordered_groups], **order),
            PartitionsAreInOrder(exclusive, clock_drift=options.clock_drift, **order),
        ]
        if options.dedup_is_exact:
            checkers.append(DeadLettersAreOnce(dead_letter_queues=dead_letter_queues))
    return checkers
