"""One gRPC channel per endpoint, opened when it is first needed. The only module that opens connections to etcd."""

import asyncio
from collections.abc import Callable

import grpc
import grpc.aio

from cluster.etcd.etcd_settings import EtcdSettings, EtcdTls

_RECONNECT_FIRST_MS = 50
_RECONNECT_MAX_MS = 500
_READY = grpc.ChannelConnectivity.READY
# A channel that failed goes on trying by itself, and shows no other state until it has succeeded.
_SETTLED = (_READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)


class Connections:
    """Endpoints are numbered as in the settings. `tls` is asked for what a connection is opened with: a channel goes by
    what it was made with, so where that is another by now, one that has lost its connection is made anew."""

    def __init__(self, settings: EtcdSettings, tls: Callable[[], EtcdTls | None]) -> None:
        self._settings = settings
        self._tls = tls
        self._channels: dict[int, grpc.aio.Channel] = {}
        self._made_with: dict[int, EtcdTls | None] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._connecting: dict[int, asyncio.Task[bool]] = {}
        self._is_closed = False

    async def connect(self, endpoint: int, *, timeout_ms: int) -> grpc.aio.Channel | None:
        """A channel that is connected now, or None: then nothing that was meant for it has been sent.

        Everybody who waits for the same endpoint waits for the same attempt.
        """
        if self._is_closed:
            return None
        channel = self._channel(endpoint)
        if channel.get_state(try_to_connect=True) is _READY:
            return channel
        connecting = self._connecting.get(endpoint)
        if connecting is None:
            connecting = asyncio.create_task(self._connect(endpoint, channel), name=f"etcd endpoint {endpoint}")
            self._connecting[endpoint] = connecting
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return channel if await asyncio.shield(connecting) else None
        except TimeoutError:
            return None

    async def close(self, *, grace_ms: int) -> None:
        """Calls under way may end within `grace_ms`; then they are cancelled."""
        self._is_closed = True
        connecting = list(self._connecting.values())
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        channels = list(self._channels.values())
        self._channels.clear()
        await asyncio.gather(*(channel.close(grace_ms / 1000) for channel in channels), *self._closing)

    async def _connect(self, endpoint: int, channel: grpc.aio.Channel) -> bool:
        try:
            async with asyncio.timeout(self._settings.connect_timeout_ms / 1000):
                state = channel.get_state(try_to_connect=True)
                while state not in _SETTLED:
                    await channel.wait_for_state_change(state)
                    state = channel.get_state(try_to_connect=True)
                return state is _READY
        except TimeoutError:
            return False
        finally:
            self._connecting.pop(endpoint, None)

    def _channel(self, endpoint: int) -> grpc.aio.Channel:
        channel = self._channels.get(endpoint)
        if channel is not None and self._is_outdated(endpoint, channel):
            del self._channels[endpoint]
            task = asyncio.create_task(channel.close(None), name=f"outdated channel to etcd endpoint {endpoint}")
            self._closing[task] = None
            task.add_done_callback(self._closing.pop)
            channel = None
        if channel is None:
            tls = self._made_with[endpoint] = self._tls()
            channel = self._channels[endpoint] = self._open(self._settings.endpoints[endpoint], tls)
        return channel

    def _is_outdated(self, endpoint: int, channel: grpc.aio.Channel) -> bool:
        """One that is connected goes on, and so does who waits for a connection."""
        if self._made_with[endpoint] is self._tls() or endpoint in self._connecting:
            return False
        return channel.get_state() is not _READY

    def _open(self, address: str, tls: EtcdTls | None) -> grpc.aio.Channel:
        settings = self._settings
        options: list[tuple[str, int | str]] = [
            ("grpc.keepalive_time_ms", settings.ping_interval_ms),
            ("grpc.keepalive_timeout_ms", settings.ping_timeout_ms),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.initial_reconnect_backoff_ms", _RECONNECT_FIRST_MS),
            ("grpc.min_reconnect_backoff_ms", settings.connect_timeout_ms),
            ("grpc.max_reconnect_backoff_ms", _RECONNECT_MAX_MS),
            ("grpc.enable_retries", 0),  # gRPC would repeat writes by rules of its own
            ("grpc.use_local_subchannel_pool", 1),  # another store's failures are not ours
            ("grpc.enable_http_proxy", 0),
            ("grpc.max_send_message_length", settings.request_bytes_max),
            ("grpc.max_receive_message_length", settings.response_bytes_max),
        ]
        if tls is None:
            return grpc.aio.insecure_channel(address, options)
        if tls.server_name is not None:
            options.append(("grpc.ssl_target_name_override", tls.server_name))
        return grpc.aio.secure_channel(address, _credentials(tls), options)


def _credentials(tls: EtcdTls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        root_certificates=tls.certificate_authority,
        private_key=tls.private_key,
        certificate_chain=tls.certificate,
    )
