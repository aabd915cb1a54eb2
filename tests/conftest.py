"""What holds for every test."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A test that sets up the server's logging binds it to its own captured output, which is closed afterwards."""
    yield
    structlog.reset_defaults()
