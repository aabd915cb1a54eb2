"""Requests that never come to their end hold nobody up."""

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.hostile.arena import DURATIONS, endure

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("seconds", DURATIONS)
def test_half_heads(make_server: ServerMaker, seconds: float) -> None:
    endure(make_server().start(), "tests.integration.hostile.half_heads", seconds=seconds)
