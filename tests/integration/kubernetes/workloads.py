"""What Kubernetes' controllers do with a StatefulSet and a Deployment: how many pods there are, and how they are
replaced."""

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.kubernetes.pod import Pod, PodPlace
from tests.support.pod_environment import PodFacts

PATIENCE_S = 180
_INDEX_LABEL = "apps.kubernetes.io/pod-index"

Manifest = Mapping[str, Any]


def addresses() -> list[str]:
    """Of the loopback network, as many as a test needs: others do not happen to listen there."""
    net = f"127.{random.randint(1, 250)}.{random.randint(1, 250)}"
    return [f"{net}.{last}" for last in range(2, 250)]


class Machine:
    """Where pods run: directories for their volumes, addresses that are given out anew to each pod, as they are."""

    def __init__(self, directory: Path, *, pace: float, secrets: Mapping[tuple[str, str], str]) -> None:
        """`secrets` by their name and key."""
        self.directory = directory
        self.pace = pace
        self.secrets = secrets
        self._addresses = addresses()
        self.pods: list[Pod] = []
        """All that there ever were."""

    async def run(self, template: Manifest, name: str, *, labels: Mapping[str, str], claims: Mapping[str, Path]) -> Pod:
        volumes = {each["name"]: self.directory / "pods" / name / each["name"] for each in template["spec"]["volumes"]}
        facts = PodFacts(
            name=name,
            ip=self._addresses.pop(),
            host="machine-1",
            labels={**template["metadata"]["labels"], **labels},
            secrets=self.secrets,
        )
        place = PodPlace(
            facts=facts,
            volumes={**volumes, **claims},
            log_path=self.directory / "logs" / f"{name}.log",
            pace=self.pace,
        )
        pod = Pod(template, place)
        self.pods.append(pod)
        await pod.start()
        return pod

    async def end(self) -> None:
        await asyncio.gather(*(pod.kill() for pod in self.pods))

    @property
    def trouble(self) -> list[str]:
        return [each for pod in self.pods for each in pod.trouble]


class StatefulSet:
    """Pods with ordinals, and claims that outlive them. Begun and taken away all at once (`Parallel`), updated one by
    one from the last to the first."""

    def __init__(self, machine: Machine, manifest: Manifest) -> None:
        self._machine = machine
        self._manifest = manifest
        self.pods: dict[int, Pod] = {}

    @property
    def _spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self._manifest["spec"]
        assert spec["podManagementPolicy"] == "Parallel"
        assert spec["updateStrategy"] == {"type": "RollingUpdate"}
        return spec

    async def apply(self, manifest: Manifest) -> None:
        """Until all is as the manifest says."""
        self._manifest = manifest
        spec = self._spec
        first = spec["ordinals"]["start"]
        wanted = range(first, first + spec["replicas"])
        await asyncio.gather(*(self._delete(ordinal) for ordinal in [*self.pods] if ordinal not in wanted))
        await asyncio.gather(*(self._create(ordinal) for ordinal in wanted if ordinal not in self.pods))
        await self._all_available()
        for ordinal in sorted(self.pods, reverse=True):
            if self.pods[ordinal].template != spec["template"]:
                await self._replace(ordinal)
                await self.pods[ordinal].until_available(spec["minReadySeconds"], patience_s=PATIENCE_S)

    async def replace_two(self, first: int, second: int) -> None:
        """Somebody deletes one pod, and the next one when the first has ended: no budget is asked for that."""
        await self._delete(first)
        await asyncio.gather(self._create(first), self._replace(second))
        await self._all_available()

    async def _replace(self, ordinal: int) -> None:
        await self._delete(ordinal)
        await self._create(ordinal)

    async def _all_available(self) -> None:
        min_ready_s = self._spec["minReadySeconds"]
        await asyncio.gather(*(pod.until_available(min_ready_s, patience_s=PATIENCE_S) for pod in self.pods.values()))

    async def _create(self, ordinal: int) -> None:
        name = f"{self._manifest['metadata']['name']}-{ordinal}"
        claims = {
            each["metadata"]["name"]: self._machine.directory / "claims" / f"{each['metadata']['name']}-{name}"
            for each in self._spec["volumeClaimTemplates"]
        }
        self.pods[ordinal] = await self._machine.run(
            self._spec["template"], name, labels={_INDEX_LABEL: str(ordinal)}, claims=claims
        )

    async def _delete(self, ordinal: int) -> None:
        await self.pods[ordinal].stop()
        del self.pods[ordinal]


class Deployment:
    """Pods that are all the same: one more is begun and available before an old one is stopped."""

    def __init__(self, machine: Machine, manifest: Manifest) -> None:
        self._machine = machine
        self._manifest = manifest
        self._serial = 0
        self._stopping: set[asyncio.Task[None]] = set()
        self.pods: list[Pod] = []

    async def apply(self, manifest: Manifest) -> None:
        """Until all is as the manifest says. Stops go on in the background, as those of Kubernetes do, to their end."""
        self._manifest = manifest
        spec = manifest["spec"]
        assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
        old = [pod for pod in self.pods if pod.template != spec["template"]]
        current = [pod for pod in self.pods if pod.template == spec["template"]]
        if not self.pods:
            self.pods = [await self._create() for _ in range(spec["replicas"])]
            await self._available(self.pods)
            return
        assert len(old) + len(current) == spec["replicas"], "scaling is not what this is for"
        for outdated in old:
            fresh = await self._create()
            self.pods.append(fresh)
            await self._available([fresh])
            stopping = asyncio.create_task(self._stop(outdated))
            self._stopping.add(stopping)
        await asyncio.gather(*self._stopping)
        self._stopping.clear()

    async def _available(self, pods: list[Pod]) -> None:
        min_ready_s = self._manifest["spec"]["minReadySeconds"]
        await asyncio.gather(*(pod.until_available(min_ready_s, patience_s=PATIENCE_S) for pod in pods))

    async def _create(self) -> Pod:
        self._serial += 1
        name = f"{self._manifest['metadata']['name']}-{self._serial}"
        return await self._machine.run(self._manifest["spec"]["template"], name, labels={}, claims={})

    async def _stop(self, pod: Pod) -> None:
        await pod.stop()
        self.pods.remove(pod)
