"""A program that has the master key, and what it may do wrong."""

import asyncio
import os
from pathlib import Path

import pytest
import uvloop

from app.processes.command_master_key import ANSWER_BYTES_MAX, CommandMasterKey
from cluster.model.data_keys import WRAPPED_BYTES_MAX
from storage.encryption.master_key import MasterKeyError

DATA_KEY = b"d" * 32
GOOD = 'case "$1" in wrap) sed "s/^/QUJD/";; unwrap) sed "s/^QUJD//";; esac'


def program(tmp_path: Path, script: str, *, timeout_ms: int = 20_000) -> CommandMasterKey:
    path = tmp_path / "kms"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return CommandMasterKey(str(path), name="ours", timeout_ms=timeout_ms)


async def test_it_wraps_and_unwraps(tmp_path: Path) -> None:
    key = program(tmp_path, GOOD)
    wrapped = await key.wrap(DATA_KEY, bound=b"")
    assert wrapped == b"ABC" + DATA_KEY
    assert await key.unwrap(wrapped, bound=b"") == DATA_KEY
    assert key.id == "command:ours"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo no access >&2; exit 3", "wrap ended with 3: no access"),
        ("echo '%%%'", "does not answer in base64"),
        ("true", f"answers 0 bytes, not 1 to {WRAPPED_BYTES_MAX}"),
        (f"head -c {WRAPPED_BYTES_MAX + 1} /dev/zero | base64 -w 0", f"not 1 to {WRAPPED_BYTES_MAX}"),
        (f"head -c {2 * ANSWER_BYTES_MAX} /dev/zero | tr '\\0' A", f"answers more than {ANSWER_BYTES_MAX} bytes"),
        ("cat >/dev/null; echo QUJD", "unwrap answers 3 bytes, not 32"),
        (
            'case "$1" in wrap) cat;; unwrap) head -c 32 /dev/zero | base64;; esac',
            "does not unwrap what it has wrapped",
        ),
    ],
)
async def test_what_goes_wrong_is_told(tmp_path: Path, script: str, says: str) -> None:
    with pytest.raises(MasterKeyError, match=says):
        await program(tmp_path, script).wrap(DATA_KEY, bound=b"")


async def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(MasterKeyError, match="took more than 300 ms"):
        await program(tmp_path, "exec sleep 600", timeout_ms=300).unwrap(b"x", bound=b"")


async def test_one_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    key = program(tmp_path, f"(exec 9>{held}; sleep 30) & wait", timeout_ms=300)
    all_have_ended = asyncio.create_task(asyncio.to_thread(held.read_bytes))
    async with asyncio.timeout(15):
        with pytest.raises(MasterKeyError, match="took more than 300 ms"):
            await key.unwrap(b"x", bound=b"")
        await all_have_ended


async def test_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MasterKeyError, match="cannot be run: No such file"):
        await CommandMasterKey(str(tmp_path / "none"), name="x", timeout_ms=1_000).wrap(DATA_KEY, bound=b"")
    with pytest.raises(ValueError, match="names no program"):
        CommandMasterKey("  ", name="x", timeout_ms=1_000)


def test_one_that_ends_before_it_reads_ends_nothing_else_where_servers_run() -> None:
    """The event loop of servers raises other errors at a pipe that is gone than that of Python does."""

    async def main() -> None:
        for program_path in ["/bin/false", "/bin/true"] * 20:
            with pytest.raises(MasterKeyError):
                await CommandMasterKey(program_path, name="ours", timeout_ms=20_000).unwrap(b"x" * 1024, bound=b"")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
