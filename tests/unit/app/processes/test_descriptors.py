"""Descriptors are set aside for the engine before connections get theirs."""

import resource

import pytest

from app.configuration.setting_error import SettingsError
from app.processes.descriptors import CONNECTIONS_MIN, OWN, plan_descriptors, raise_descriptor_limit


def test_with_plenty_everybody_gets_what_the_settings_say() -> None:
    plan = plan_descriptors(65_536, connections_max=20_000, open_files_max=512, journal_files_max=8)
    assert (plan.connections, plan.open_files) == (20_000, 512)


@pytest.mark.parametrize("total", [256, 1024, 4096, 20_000])
def test_all_that_can_be_open_at_once_fits(total: int) -> None:
    """Connections that were accepted in one go and are about to be refused count, too."""
    plan = plan_descriptors(total, connections_max=1_000_000, open_files_max=512, journal_files_max=8, others=10)
    assert plan.connections + plan.backlog + plan.open_files + 8 + 10 + OWN <= total
    assert plan.connections >= CONNECTIONS_MIN


def test_too_few_are_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match="LimitNOFILE"):
        plan_descriptors(100, connections_max=20_000, open_files_max=512, journal_files_max=8)


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard - 1, hard))
        assert raise_descriptor_limit() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
