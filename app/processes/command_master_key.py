"""A master key that another program has, such as the client of a key management service.

It is called with `wrap` or `unwrap` behind its own arguments, gets a data key on its standard input, plain or wrapped,
in base64 with a line end, and answers with the other one on its standard output, in base64 as well. There is no shell
in between. What it says on its standard error goes into the log where it fails.
"""

import asyncio
import base64
import contextlib
import os
import shlex
import signal

from cluster.model.data_keys import WRAPPED_BYTES_MAX
from storage.encryption.master_key import MasterKeyError
from storage.encryption.writer_key import KEY_BYTES

ANSWER_BYTES_MAX = 8 * 1024
"""Of each of its two outputs; more than a wrapped data key may have."""
CALLS_AT_ONCE_MAX = 4
COMPLAINT_LENGTH_MAX = 500
END_TIMEOUT_S = 1.0


class CommandMasterKey:
    """`name` is what the key is called; the program may change and have the same key."""

    def __init__(self, program: str, *, name: str, timeout_ms: int) -> None:
        """Raises ValueError for what is no command line."""
        self._arguments = shlex.split(program)
        if not self._arguments:
            raise ValueError("it names no program")
        self._name = name
        self._timeout_ms = timeout_ms
        self._permits = asyncio.Semaphore(CALLS_AT_ONCE_MAX)

    @property
    def id(self) -> str:
        return f"command:{self._name}"

    async def wrap(self, data_key: bytes, *, bound: bytes) -> bytes:
        """`bound` says nothing to the program. What it has wrapped is unwrapped at once: a data key that cannot be
        had again would take its batches with it."""
        wrapped = await self._ask("wrap", data_key)
        if not 0 < len(wrapped) <= WRAPPED_BYTES_MAX:
            raise MasterKeyError(
                f"{self._arguments[0]} wrap answers {len(wrapped)} bytes, not 1 to {WRAPPED_BYTES_MAX}"
            )
        if await self.unwrap(wrapped, bound=bound) != data_key:
            raise MasterKeyError(f"{self._arguments[0]} does not unwrap what it has wrapped")
        return wrapped

    async def unwrap(self, wrapped: bytes, *, bound: bytes) -> bytes:
        data_key = await self._ask("unwrap", wrapped)
        if len(data_key) != KEY_BYTES:
            raise MasterKeyError(f"{self._arguments[0]} unwrap answers {len(data_key)} bytes, not {KEY_BYTES}")
        return data_key

    async def _ask(self, action: str, content: bytes) -> bytes:
        async with self._permits:
            process = await self._started(action)
            code = None
            try:
                async with asyncio.timeout(self._timeout_ms / 1000):
                    answer, complaint = await _converse(process, base64.b64encode(content) + b"\n")
                    code = await process.wait()
            except TimeoutError:
                raise MasterKeyError(f"{self._arguments[0]} {action} took more than {self._timeout_ms} ms") from None
            finally:
                if code is None:
                    await _end(process)
        if code != 0:
            said = complaint.decode(errors="replace").strip()[:COMPLAINT_LENGTH_MAX]
            raise MasterKeyError(f"{self._arguments[0]} {action} ended with {code}: {said}")
        return self._decoded(action, answer)

    async def _started(self, action: str) -> asyncio.subprocess.Process:
        """In a session of its own, so that it can be ended with all that it starts."""
        try:
            return await asyncio.create_subprocess_exec(
                *self._arguments,
                action,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise MasterKeyError(f"{self._arguments[0]} cannot be run: {reason}") from None

    def _decoded(self, action: str, answer: bytes) -> bytes:
        if len(answer) > ANSWER_BYTES_MAX:
            raise MasterKeyError(f"{self._arguments[0]} {action} answers more than {ANSWER_BYTES_MAX} bytes")
        try:
            return base64.b64decode(answer.strip(), validate=True)
        except ValueError:
            raise MasterKeyError(f"{self._arguments[0]} {action} does not answer in base64") from None


async def _converse(process: asyncio.subprocess.Process, content: bytes) -> tuple[bytes, bytes]:
    """What it answers, and what it complains of; of each at most one byte more than the limit."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    # Its exit code says why it does not read. Where the pipe is gone, asyncio raises OSError and uvloop RuntimeError.
    with contextlib.suppress(OSError, RuntimeError):
        process.stdin.write(content)
        await process.stdin.drain()
        process.stdin.close()
    answer, complaint = await asyncio.gather(_read(process.stdout), _read(process.stderr))
    return answer, complaint


async def _end(process: asyncio.subprocess.Process) -> None:
    """With its children, who would else be left behind by each try, and would hold its outputs open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # a child that has left the session may keep it from being over
        async with asyncio.timeout(END_TIMEOUT_S):
            await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes:
    found = b""
    while len(found) <= ANSWER_BYTES_MAX and (more := await stream.read(ANSWER_BYTES_MAX + 1 - len(found))):
        found += more
    return found
