"""A simulated node that has master keys, and what of a text is on its disk."""

from typing import Any

from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import Encryption, NodeRegistration, Topic
from cluster.ports.coordination import Put
from storage.encryption.local_master_key import LocalMasterKey
from storage.encryption.master_key import MasterKeys
from storage.node.partition.node_settings import NodeSettings
from storage.rpc.handshake import NEWEST_VERSION
from tests.sim.environment import SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.simulated_node import SMALL, SimulatedNode


def master_key(name: str = "first") -> LocalMasterKey:
    return LocalMasterKey(name.encode().ljust(32, b"."), SimEntropy(5))


async def give_keys(sim: SimulatedNode, current: LocalMasterKey, previous: LocalMasterKey | None = None) -> None:
    """Before its next start."""
    sim.master_keys = MasterKeys(current, previous)
    registration = NodeRegistration(
        1, 1, "dir", "here", newest_protocol=NEWEST_VERSION, master_keys=sim.master_keys.ids
    )
    await sim.store.transact([], [Put(keys.node(1), encode(registration))])


def with_keys(main: Any, settings: NodeSettings = SMALL) -> Any:
    """As `with_node`, of one that has a master key."""

    async def run(loop: SimLoop) -> Any:
        sim = SimulatedNode(loop, settings)
        await give_keys(sim, master_key())
        await sim.start()
        return await main(sim)

    result, _ = simulate(1, run)
    return result


async def encrypted_topic(sim: SimulatedNode, name: str = "orders", **config: Any) -> Topic:
    return await sim.topic(name, encryption=Encryption.ON, **config)


def on_disk(sim: SimulatedNode, text: bytes) -> list[str]:
    """Files that hold it."""
    return sorted(path for path, content in sim.disk.files().items() if text in content)
