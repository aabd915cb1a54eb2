"""The FastAPI application with every endpoint of the API. Whoever only serves what all servers get does without it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from acklog import __version__
from app.gateway.dependencies import Gateway
from app.http.audit.audited_route import audit_routes
from app.http.audit.refusal_watch import RefusalWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.kept_slashes import KeptSlashes, KeptSlashRoute
from app.http.exchange.observation import ObservedApplication
from app.http.exchange.problem_handlers import install_problem_handlers
from app.http.routers.audit import add_audit
from app.http.routers.blocked import add_blocked
from app.http.routers.browser_files import BrowserFiles
from app.http.routers.cluster import add_cluster, add_unclean_elections
from app.http.routers.compactions import add_compactions
from app.http.routers.console import add_console
from app.http.routers.copies import add_copies
from app.http.routers.deletions import add_deletions
from app.http.routers.documentation import add_documentation, use_description
from app.http.routers.encryption import add_encryption
from app.http.routers.events import add_events
from app.http.routers.groups import add_groups
from app.http.routers.members import add_members
from app.http.routers.messages import add_messages
from app.http.routers.namespaces import add_namespaces
from app.http.routers.operations import add_operations
from app.http.routers.producers import add_producers
from app.http.routers.records import add_records
from app.http.routers.recurring import add_recurring
from app.http.routers.redrives import add_redrives
from app.http.routers.scheduled import add_scheduled
from app.http.routers.settlements import add_settlements
from app.http.routers.tables import add_tables
from app.http.routers.tails import add_tails
from app.http.routers.tokens import add_tokens
from app.http.routers.topics import add_topics

# Tracing is the gateway's own business (`traceparent` travels with messages); the framework's would cost each request
# a tenth of its time even when nothing listens.
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}


def make_api(gateway: Gateway, services: HttpServices) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        gateway.shutdown.begin()

    app = FastAPI(
        title="Acklog",
        version=__version__,
        lifespan=lifespan,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.router.route_class = KeptSlashRoute
    add_messages(app.router, services)
    add_settlements(app.router, services)
    add_recurring(app.router, services)
    add_scheduled(app.router, services)
    add_records(app.router, services)
    add_topics(app.router, services)
    add_deletions(app.router, services)
    add_compactions(app.router, services)
    add_copies(app.router, services)
    add_encryption(app.router, services)
    add_tables(app.router, services)
    add_producers(app.router, services)
    add_groups(app.router, services)
    add_blocked(app.router, services)
    add_redrives(app.router, services)
    add_members(app.router, services)
    add_cluster(app.router, services)
    add_unclean_elections(app.router, services)
    add_events(app.router, services)
    add_tails(app.router, services)
    add_audit(app.router, services)
    add_tokens(app.router, services)
    add_namespaces(app.router, services)
    add_operations(app.router, services)
    browser_files = BrowserFiles(gateway.in_thread)
    add_documentation(app.router, app, services, browser_files)
    add_console(app.router, services, browser_files)
    use_description(app)
    install_problem_handlers(app)
    audit_routes(app, services)
    app.add_middleware(ObservedApplication, metrics=services.metrics, on_refused=RefusalWatch(services).answered)
    app.add_middleware(KeptSlashes)
    return app
