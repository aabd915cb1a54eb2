"""What holds for every test."""

import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import pytest
import structlog

NEEDED_FREE_BYTES = 8 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="scenario files: write what comes out, instead of judging")


COLLECTION_THRESHOLDS = (50_000, 20, 50)
"""Of the garbage collector. By default it looks through what simulated clusters are made of all the while, for a sixth
of a seed's time."""


def pytest_configure() -> None:
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    share_compiled_modules()


def share_compiled_modules() -> None:
    """Containers often have this set. Then each of the hundreds of servers that tests start would compile every module
    anew: four times the work until it serves."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_sessionstart() -> None:
    """On a full disk hundreds of tests would fail one by one, each after the wait for a server that cannot start."""
    free_bytes = shutil.disk_usage(tempfile.gettempdir()).free
    if free_bytes < NEEDED_FREE_BYTES:
        pytest.exit(
            f"the tests need {NEEDED_FREE_BYTES >> 30} GiB in {tempfile.gettempdir()}, and {free_bytes >> 20} MiB are"
            " free: remove what fills the disk, or set TMPDIR to a directory on another one",
            returncode=3,
        )


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A test that sets up the server's logging binds it to its own captured output, which is closed afterwards; others
    keep loggers quiet, or switch them off."""
    logging.disable(logging.NOTSET)
    known = [name for name in logging.root.manager.loggerDict if name.startswith("acklog.")]
    for logger in map(logging.getLogger, ["acklog", *known]):
        logger.disabled = False
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    yield
    structlog.reset_defaults()
