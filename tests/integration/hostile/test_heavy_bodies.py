"""Bodies that take long to look at are looked at a little at a time."""

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.hostile.arena import DURATIONS, endure

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("seconds", DURATIONS)
def test_heavy_bodies(make_server: ServerMaker, seconds: float) -> None:
    endure(make_server().start(), "tests.integration.hostile.heavy_bodies", seconds=seconds)
