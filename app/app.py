"""The FastAPI application of a gateway."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from acklog import __version__
from app.dependencies import Gateway
from app.problems import install_problem_handlers
from app.routers.messages import add_messages
from app.routers.settlements import add_settlements
from app.services.registry import Services


def create_app(gateway: Gateway) -> FastAPI:
    """A gateway's application. Whoever runs it calls `gateway.shutdown.begin()` before it stops listening."""
    services = Services(gateway)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        gateway.shutdown.begin()

    app = FastAPI(title="Acklog", version=__version__, lifespan=lifespan, redirect_slashes=False)
    add_messages(app.router, services)
    add_settlements(app.router, services)
    install_problem_handlers(app)
    return app
