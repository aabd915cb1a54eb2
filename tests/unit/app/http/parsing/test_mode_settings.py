"""Settings that mean something in some modes only."""

import pytest

from acklog.wire.problems import ProblemCode
from app.calls.groups import GroupSettingsFields
from app.calls.mode_settings import check_mode_settings
from cluster.errors import ServerError
from cluster.model.values import Assignor, Exhausted, FairBy, GroupMode, GroupSettings


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (GroupSettingsFields(fair_by=FairBy.KEY), "settings.fairBy"),
        (GroupSettingsFields(max_in_flight_per_key=3), "settings.maxInFlightPerKey"),
        (GroupSettingsFields(fair_by_header="tenant"), "settings.fairByHeader"),
        (GroupSettingsFields(max_in_flight_per_header=3), "settings.maxInFlightPerHeader"),
    ],
)
@pytest.mark.parametrize("mode", [GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE])
def test_the_field_is_named(fields: GroupSettingsFields, field: str, mode: GroupMode) -> None:
    with pytest.raises(ServerError) as caught:
        check_mode_settings(fields, mode)
    assert (caught.value.code, caught.value.field) == (ProblemCode.INVALID_FIELD, field)
    check_mode_settings(fields, GroupMode.SHARED)


def test_a_consumer_of_an_exclusive_group_is_a_member_and_has_no_limit() -> None:
    fields = GroupSettingsFields(max_in_flight_per_consumer=3)
    for mode in (GroupMode.SHARED, GroupMode.KEY_ORDERED):
        check_mode_settings(fields, mode)
    with pytest.raises(ServerError) as caught:
        check_mode_settings(fields, GroupMode.EXCLUSIVE)
    assert caught.value.field == "settings.maxInFlightPerConsumer"


@pytest.mark.parametrize("mode", list(GroupMode))
def test_what_every_group_has_may_be_said(mode: GroupMode) -> None:
    check_mode_settings(GroupSettingsFields(fair_by=FairBy.NONE, max_in_flight_per_key=None), mode)
    check_mode_settings(GroupSettingsFields(session_timeout_ms=GroupSettings().session_timeout_ms), mode)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (GroupSettingsFields(session_timeout_ms=20_000), "settings.sessionTimeoutMs"),
        (GroupSettingsFields(rebalance_timeout_ms=1), "settings.rebalanceTimeoutMs"),
        (GroupSettingsFields(assignor=Assignor.LAG), "settings.assignor"),
    ],
)
@pytest.mark.parametrize("mode", [GroupMode.KEY_ORDERED, GroupMode.SHARED])
def test_only_exclusive_groups_have_members(fields: GroupSettingsFields, field: str, mode: GroupMode) -> None:
    with pytest.raises(ServerError) as caught:
        check_mode_settings(fields, mode)
    assert (caught.value.code, caught.value.field) == (ProblemCode.INVALID_FIELD, field)
    check_mode_settings(fields, GroupMode.EXCLUSIVE)


@pytest.mark.parametrize("mode", list(GroupMode))
def test_messages_come_back_for_ever_in_any_mode_and_block_in_an_order_only(mode: GroupMode) -> None:
    check_mode_settings(GroupSettingsFields(on_exhausted=Exhausted.RETRY), mode)
    blocks = GroupSettingsFields(on_exhausted=Exhausted.BLOCK)
    if mode is not GroupMode.SHARED:
        check_mode_settings(blocks, mode)
        return
    with pytest.raises(ServerError) as caught:
        check_mode_settings(blocks, mode)
    assert (caught.value.code, caught.value.field) == (ProblemCode.INVALID_FIELD, "settings.onExhausted")
