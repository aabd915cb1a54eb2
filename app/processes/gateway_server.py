"""uvicorn around a gateway, embedded or in a cluster. (Not in `app.processes.server`, which
brings in the coordination store of the embedded server: a fifth of what a cluster's process would load, for
nothing.)"""

from collections.abc import Awaitable, Callable

import uvicorn

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.web_origins import web_origins
from app.gateway.dependencies import Gateway
from app.http.application import create_server_app
from app.http.protocol.cross_origin import cross_origin
from app.http.protocol.named_pages import NamedPages
from app.http.protocol.server_protocol import make_server_protocol
from app.http.protocol.web_guard import guard_of
from app.processes.in_force import InForce
from app.processes.process_constants import GRACE_SECONDS
from app.processes.reloads import InThread, Reloads
from app.processes.sqs_door import sqs_doors

OTHER_ADDRESS = "Give another --host or --port (--port 0 takes a free one)."


def gateway_config(gateway: Gateway, *, backlog: int) -> uvicorn.Config:
    """How uvicorn serves a gateway, embedded or in a cluster. `backlog` connections may wait to be accepted."""
    settings = gateway.settings
    application = create_server_app(gateway, sqs_doors(settings))
    origins = web_origins(settings.cors_origins)
    guard = guard_of(
        listens_on=settings.host,
        allowed_hosts=settings.allowed_hosts,
        has_tokens=gateway.tokens is not None,
        web_origins=origins,
    )
    return uvicorn.Config(
        cross_origin(application.asgi, origins),
        host=settings.host,
        port=settings.port,
        http=make_server_protocol(
            settings,
            guard,
            application.short_ways,
            pages=NamedPages(origins),
            on_connections=application.on_connections,
            on_page_refused=application.on_page_refused,
        ),
        loop="uvloop",
        ws="none",
        proxy_headers=False,  # what a client says of its address is its word alone: the audit log tells the peer's
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=backlog,
        timeout_keep_alive=settings.keep_alive_ms // 1000,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def reloads_of(
    process: ConfiguredProcess, gateway: Gateway, *, in_thread: InThread, look: Callable[[], Awaitable[None]]
) -> Reloads:
    """What a gateway is told anew: its own settings and tokens. The rest as with `Reloads`."""
    in_force = InForce(process, settings=gateway.settings, tokens=gateway.tokens)
    return Reloads(in_force, in_thread=in_thread, look=look, on_changed=gateway.settings_listeners.tell)
