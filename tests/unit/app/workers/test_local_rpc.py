import pytest

from app.configuration.server_settings import Settings
from app.services.tails import TAIL_WAITS_MAX
from app.workers.local_rpc import local_client, local_server
from storage.rpc.rpc_settings import RpcClientSettings


@pytest.mark.parametrize("waiting", [1, 10_000, 1_000_000])
def test_as_many_as_may_wait_leave_room_for_others(waiting: int) -> None:
    settings = Settings(waiting_requests_max=waiting)
    allowed = local_client(settings).in_flight_requests_max
    assert allowed - waiting - TAIL_WAITS_MAX == RpcClientSettings().in_flight_requests_max
    assert local_server(settings).requests_per_connection_max >= allowed, "or the server stops reading"
