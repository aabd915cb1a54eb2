"""What holds for every test."""

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A test that sets up the server's logging binds it to its own captured output, which is closed afterwards; others
    keep loggers quiet, or switch them off."""
    logging.disable(logging.NOTSET)
    for name in ("", ".producer", ".consumer", ".gateway"):
        logger = logging.getLogger(f"acklog{name}")
        logger.disabled = False
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    yield
    structlog.reset_defaults()
