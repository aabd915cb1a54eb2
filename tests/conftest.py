"""What holds for every test."""

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A test that sets up the server's logging binds it to its own captured output, which is closed afterwards; a
    simulation keeps the gateway quiet."""
    yield
    structlog.reset_defaults()
    logging.getLogger("acklog").setLevel(logging.NOTSET)
