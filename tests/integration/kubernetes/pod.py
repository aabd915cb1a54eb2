"""A pod whose one container is a process of this machine, looked after as a kubelet does: probes, hooks, grace periods.

In place of a network of its own it has an address of the loopback network, on which its ports are what they are; in
place of mounts, directories that its variables are pointed to, with the files of Secrets that the template asks for.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.local_cluster.server_process import server_environment
from tests.support.pod_environment import PodFacts, environment_of

ANY_ADDRESS = "0.0.0.0"
_UNCHECKED = ssl._create_unverified_context()
"""Of the kubelet, which believes every certificate."""
LOG_TAIL_BYTES = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlace:
    """Where a pod has what. `volumes` by their names: those of claims outlive the pod. `pace` shortens the pauses
    between probes, and nothing else."""

    facts: PodFacts
    volumes: Mapping[str, Path]
    log_path: Path
    pace: float = 1.0


class Pod:
    """`start` it, and `stop` it in order. What a cluster in good order never sees is in `trouble`."""

    def __init__(self, template: Mapping[str, Any], place: PodPlace) -> None:
        [self._container] = template["spec"]["containers"]
        self._grace_s = float(template["spec"]["terminationGracePeriodSeconds"])
        self._place = place
        self._volumes = {each["name"]: each for each in template["spec"].get("volumes", ())}
        self._process: asyncio.subprocess.Process | None = None
        self._looking: asyncio.Task[None] | None = None
        self.template = template
        self.is_ready = False
        self.is_terminating = False
        self.ready_since_s = 0.0
        self.ready_changed = asyncio.Event()
        self.trouble: list[str] = []

    @property
    def name(self) -> str:
        return self._place.facts.name

    @property
    def ip(self) -> str:
        return self._place.facts.ip

    def is_available(self, min_ready_s: float) -> bool:
        """Ready, and for so long."""
        return self.is_ready and not self.is_terminating and _now_s() - self.ready_since_s >= min_ready_s

    async def start(self) -> None:
        for name, path in self._place.volumes.items():
            volume = self._volumes.get(name, {})
            if volume:
                shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True, exist_ok=True)
            for file, content in self._files_of(volume).items():
                (path / file).write_text(content)
        self._place.log_path.parent.mkdir(parents=True, exist_ok=True)
        log = os.open(self._place.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment(),
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._looking = asyncio.create_task(self._look_after(), name=f"kubelet of {self.name}")

    async def stop(self) -> None:
        """The hook, SIGTERM, and SIGKILL at the end of the grace period, which counts from the hook on."""
        self.is_terminating = True
        process = self._process
        assert process is not None
        try:
            async with asyncio.timeout(self._grace_s):
                hook = self._container.get("lifecycle", {}).get("preStop")
                if hook is not None:
                    await self._run_hook(hook)
                self._end_looking()
                if process.returncode is None:
                    process.send_signal(signal.SIGTERM)
                exit_code = await process.wait()
                if exit_code != 0:
                    self._complain(f"ended with {exit_code}")
        except TimeoutError:
            self._complain(f"had to be killed after {self._grace_s:.0f} s")
            await self.kill()
        self._tell_ready(False)

    async def kill(self) -> None:
        """At the end of a test, whatever happens."""
        self._end_looking()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def environment(self) -> dict[str, str]:
        own = environment_of(self._container, self._place.facts)
        kept = server_environment(os.environ, self._place.log_path.parent / "bytecode")
        return kept | {name: self._mapped(value) for name, value in own.items()}

    def log_tail(self) -> str:
        return self._place.log_path.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def _files_of(self, volume: Mapping[str, Any]) -> dict[str, str]:
        """By their names in the volume. KeyError for one that is not in a Secret: such a pod would never start."""
        if "projected" in volume:
            sources = [each["secret"] for each in volume["projected"]["sources"]]
            parts = [self._of_secret(each["name"], each) for each in sources]
            return {name: content for part in parts for name, content in part.items()}
        if "secret" in volume:
            return self._of_secret(volume["secret"]["secretName"], volume["secret"])
        return {}

    def _of_secret(self, name: str, wanted: Mapping[str, Any]) -> dict[str, str]:
        held = {key: text for (secret, key), text in self._place.facts.secrets.items() if secret == name}
        if not held and wanted.get("optional"):
            return {}
        return {each["path"]: held[each["key"]] for each in wanted["items"]} if "items" in wanted else held

    def _command(self) -> list[str]:
        program, *rest = [*self._container["command"], *self._container.get("args", ())]
        return [sys.executable, "-P", "-m", "acklog.command", *rest] if program == "acklog" else [program, *rest]

    def _mapped(self, value: str) -> str:
        """Mount paths are the volumes' directories, and any address is the pod's own."""
        for mount in self._container.get("volumeMounts", ()):
            path = mount["mountPath"]
            if value == path or value.startswith(f"{path}/"):
                return str(self._place.volumes[mount["name"]]) + value.removeprefix(path)
        return value.replace(ANY_ADDRESS, self.ip)

    # --- probes and hooks --------------------------------------------------------------------------------------------

    async def _look_after(self) -> None:
        await self._until_started(self._container["startupProbe"])
        async with asyncio.TaskGroup() as probing:
            probing.create_task(self._watch_life(self._container["livenessProbe"]))
            probing.create_task(self._watch_readiness(self._container["readinessProbe"]))

    async def _until_started(self, probe: Mapping[str, Any]) -> None:
        for _ in range(probe["failureThreshold"]):
            if await self._answers(probe):
                return
            self._see_whether_it_runs()
            await self._pause(probe)
        self._complain("did not start in time")

    async def _watch_life(self, probe: Mapping[str, Any]) -> None:
        failures = 0
        while True:
            failures = 0 if await self._answers(probe) else failures + 1
            if failures >= probe["failureThreshold"]:
                self._complain("would have been killed by its liveness probe")
                failures = 0
            await self._pause(probe)

    async def _watch_readiness(self, probe: Mapping[str, Any]) -> None:
        failures = 0
        while True:
            if await self._answers(probe):
                failures = 0
                self._tell_ready(not self.is_terminating)
            else:
                failures += 1
                self._see_whether_it_runs()
                if failures >= probe.get("failureThreshold", 3):
                    self._tell_ready(False)
            await self._pause(probe)

    def _see_whether_it_runs(self) -> None:
        if self._process is not None and self._process.returncode is not None and not self.is_terminating:
            self._complain(f"ended by itself with {self._process.returncode}")

    async def _answers(self, probe: Mapping[str, Any]) -> bool:
        try:
            async with asyncio.timeout(probe.get("timeoutSeconds", 1)):
                return 200 <= await self._get(probe["httpGet"]) < 400
        except (OSError, TimeoutError, ValueError):
            return False

    async def _get(self, action: Mapping[str, Any]) -> int:
        """The status of the answer. Raises OSError, and ValueError for an answer that is none."""
        path = urlsplit(action["path"])
        target = path.path + (f"?{path.query}" if path.query else "")
        tls = _UNCHECKED if action.get("scheme", "HTTP") == "HTTPS" else None
        reader, writer = await asyncio.open_connection(self.ip, self._port(action["port"]), ssl=tls)
        try:
            writer.write(f"GET {target} HTTP/1.1\r\nHost: {self.ip}\r\nConnection: close\r\n\r\n".encode())
            return int((await reader.readline()).split()[1])
        except IndexError:
            raise ValueError("no answer") from None
        finally:
            writer.close()

    def _port(self, name: str) -> int:
        [port] = [each["containerPort"] for each in self._container["ports"] if each["name"] == name]
        return int(port)

    async def _run_hook(self, hook: Mapping[str, Any]) -> None:
        """One that fails is told, and the stop goes on."""
        if "httpGet" in hook:
            try:
                status = await self._get(hook["httpGet"])
            except (OSError, ValueError) as error:
                status = 0
                self._complain(f"did not answer its hook: {error!r}")
            if status >= 400:
                self._complain(f"answered its hook with {status}")
        else:
            process = await asyncio.create_subprocess_exec(*hook["exec"]["command"])
            if await process.wait() != 0:
                self._complain("its hook failed")

    async def _pause(self, probe: Mapping[str, Any]) -> None:
        await asyncio.sleep(probe["periodSeconds"] * self._place.pace)

    def _tell_ready(self, is_ready: bool) -> None:
        if is_ready and not self.is_ready:
            self.ready_since_s = _now_s()
        self.is_ready = is_ready
        self.ready_changed.set()

    def _end_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def _complain(self, what: str) -> None:
        text = f"{self.name} {what}"
        if text not in self.trouble:
            self.trouble.append(text)

    async def until_available(self, min_ready_s: float, *, patience_s: float) -> None:
        """AssertionError where that does not come about."""
        try:
            async with asyncio.timeout(patience_s):
                while not self.is_available(min_ready_s):
                    self.ready_changed.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.ready_changed.wait(), max(0.05, min_ready_s / 4))
        except TimeoutError:
            raise AssertionError(f"{self.name} is not ready; {self.trouble}\n{self.log_tail()}") from None


def _now_s() -> float:
    return asyncio.get_running_loop().time()
