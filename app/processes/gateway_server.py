"""uvicorn around a gateway, embedded or in a cluster, and what is checked before. (Not in `app.processes.server`, which
brings in the coordination store of the embedded server: a fifth of what a cluster's process would load, for
nothing.)"""

import uvicorn

from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.gateway.dependencies import Gateway
from app.http.application import create_server_app
from app.http.protocol.single_send_protocol import make_server_protocol
from app.http.protocol.web_guard import guard_of, is_loopback
from app.processes.process_constants import GRACE_SECONDS
from app.processes.required_tokens import asks_for_tokens

OTHER_ADDRESS = "Give another --host or --port (--port 0 takes a free one)."


def check_exposure(settings: Settings) -> None:
    """Refuse to offer an open queue to the network by mistake. Raises SettingsError."""
    if asks_for_tokens(settings) or settings.insecure or is_loopback(settings.host):
        return
    raise SettingsError(
        f"--host {settings.host} is reachable from other machines and there is no --tokens-file: anybody could read "
        "and write. Give a tokens file or --require-tokens, listen on 127.0.0.1, or say --insecure if that is what you "
        "want."
    )


def gateway_config(gateway: Gateway, *, backlog: int) -> uvicorn.Config:
    """How uvicorn serves a gateway, embedded or in a cluster. `backlog` connections may wait to be accepted."""
    settings = gateway.settings
    application = create_server_app(gateway)
    guard = guard_of(
        listens_on=settings.host, allowed_hosts=settings.allowed_hosts, has_tokens=gateway.tokens is not None
    )
    return uvicorn.Config(
        application.asgi,
        host=settings.host,
        port=settings.port,
        http=make_server_protocol(settings, application.single_sends, guard, on_connections=application.on_connections),
        loop="uvloop",
        ws="none",
        proxy_headers=False,  # nobody asks for a client's address
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=backlog,
        timeout_keep_alive=settings.keep_alive_ms // 1000,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
