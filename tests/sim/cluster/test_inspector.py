"""Whoever looks into the replicas complains about what must not be there."""

import asyncio

import pytest

from storage.replication.leader_replica import LeaderReplica
from tests.sim.cluster import inspector as inspector_module
from tests.sim.cluster.stage import Script, Stage, play


def complaints(script: Script) -> str:
    with pytest.raises(AssertionError) as raised:
        play(script, seeds=range(1))
    return str(raised.value)


def test_two_replicas_with_different_records(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        await stage.all_in_sync()
        await stage.sleep(1)

    checksums = iter(range(10_000))
    monkeypatch.setattr(inspector_module, "checksum_of", lambda data: next(checksums))
    assert "are both committed" in complaints(script)


def test_a_leader_that_lacks_what_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader commits alone; the next one does not have it."""
    monkeypatch.setattr(LeaderReplica, "_committed_end", lambda self, number: self._logs[number].durable_end)
    monkeypatch.setattr(LeaderReplica, "check_invariants", lambda self: None)

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        first = stage.leader
        await stage.all_in_sync()
        for machine in stage.others(first):
            stage.cut(first.name, machine.name)
        sending = [asyncio.create_task(stage.send()) for _ in range(2)]
        await stage.sleep(1)
        stage.kill(first)
        await stage.until(lambda: stage.state.leader != first.node_id, "another leads")
        await stage.sleep(2)
        await asyncio.gather(*sending)

    assert "had committed" in complaints(script)
