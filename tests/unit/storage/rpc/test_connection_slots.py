"""How many peers of each kind are connected where there are few descriptors."""

import pytest

from storage.rpc.rpc_settings import RpcServerSettings


@pytest.mark.parametrize("connections", [16, 100, 700, 1663])
def test_each_kind_has_a_share_of_few_connections(connections: int) -> None:
    settings = RpcServerSettings().within(connections)
    assert settings.connections_max == connections
    assert min(settings.strangers_max, settings.node_connections_max, settings.gateway_connections_max) > 0


def test_with_enough_connections_nothing_changes() -> None:
    settings = RpcServerSettings()
    assert settings.within(settings.connections_max) is settings
