"""The limits of a gateway's connection to the one storage process of its server.

All requests that wait for messages wait there: in a cluster they are spread over nodes, and here they must not keep
anything else from being asked.
"""

from dataclasses import replace

from app.configuration.server_settings import Settings
from app.services.tails import TAIL_WAITS_MAX
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings


def local_client(settings: Settings) -> RpcClientSettings:
    usual = RpcClientSettings()
    return replace(usual, in_flight_requests_max=usual.in_flight_requests_max + _waiting_max(settings))


def local_server(settings: Settings) -> RpcServerSettings:
    usual = RpcServerSettings()
    return replace(usual, requests_per_connection_max=usual.requests_per_connection_max + _waiting_max(settings))


def _waiting_max(settings: Settings) -> int:
    return settings.waiting_requests_max + TAIL_WAITS_MAX
