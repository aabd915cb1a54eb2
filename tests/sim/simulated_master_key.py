"""The master key that all simulated nodes have, in seeds whose topics are encrypted."""

from storage.encryption.local_master_key import LocalMasterKey
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from tests.sim.environment import SimEntropy
from tests.sim.options import Options


def master_keys_of(options: Options, process_name: str) -> MasterKeys:
    if not options.is_encrypted:
        return NO_MASTER_KEYS
    return MasterKeys(LocalMasterKey(b"simulated".ljust(32, b"."), SimEntropy(f"master key {process_name}")))
