"""The limits of the HTTP layer: the same framework and server as Acklog's, with nothing behind them.

`python -m loadtests.bare_servers fastapi --port 8090`, or `asgi` for a callable without a framework.
"""

import typer
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

STORED = b'{"messageId":"m-0123456789abc-3-1-123456","partition":3,"offset":123456}\n'
JSON = "application/json"
KINDS = ("fastapi", "asgi")


def make_fastapi() -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.get("/readyz")
    async def ready() -> Response:
        return Response(b"ready\n")

    @app.post("/messages")
    async def send_messages(request: Request) -> Response:
        await request.body()
        return Response(STORED, 201, media_type=JSON)

    @app.api_route("/exchange", methods=["GET", "POST"])
    async def exchange(request: Request) -> Response:
        """An answer of as many bytes as the query asks for."""
        await request.body()
        return Response(b" " * int(request.query_params["bytes"]), media_type=JSON)

    return app


async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
    """The least that an ASGI application can do."""
    while (await receive()).get("more_body", False):
        pass
    headers = [(b"content-length", b"%d" % len(STORED)), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": STORED})


def main(kind: str, port: int = typer.Option(...)) -> None:
    if kind not in KINDS:
        raise typer.BadParameter(f"{kind} is none of {', '.join(KINDS)}")
    app: ASGIApp = make_fastapi() if kind == "fastapi" else asgi
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_level="warning",
        access_log=False,
        backlog=4096,
    )


if __name__ == "__main__":
    typer.run(main)
