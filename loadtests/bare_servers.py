"""The limits of the HTTP layer: servers with nothing behind them.

`python -m loadtests.bare_servers fastapi --port 8090`; or `asgi`, a callable on uvicorn without a framework; or
`protocol`, without uvicorn.
"""

from dataclasses import dataclass

import typer
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from loadtests import bare_protocol
from loadtests.canned import ANSWER_BYTES_MAX, JSON, STORED

KINDS = ("fastapi", "asgi", "protocol")
NAMES_MAX = 16


@dataclass(frozen=True, slots=True)
class _Canned:
    status: int
    content: bytes


def make_fastapi() -> FastAPI:
    """Sends are answered as Acklog would. `/answers/NAME` answers to GET and POST what a PUT (`?status=`) has left
    there, so that the same client can exchange the same bytes with it as with Acklog."""
    app = FastAPI(openapi_url=None)
    answers: dict[str, _Canned] = {}

    @app.get("/readyz")
    async def ready() -> Response:
        return Response(b"ready\n")

    @app.post("/messages")
    async def send_messages(request: Request) -> Response:
        await request.body()
        return Response(STORED, 201, media_type=JSON)

    @app.put("/answers/{name}")
    async def put_answer(request: Request, name: str, status: int) -> Response:
        content = await request.body()
        if len(content) > ANSWER_BYTES_MAX or len({*answers, name}) > NAMES_MAX:
            return Response(status_code=413)
        answers[name] = _Canned(status, content)
        return Response(status_code=201, headers={"content-length": "0"})

    @app.api_route("/answers/{name}", methods=["GET", "POST"])
    async def exchange(request: Request, name: str) -> Response:
        await request.body()
        if (canned := answers.get(name)) is None:
            return Response(status_code=404, headers={"content-length": "0"})
        return Response(canned.content, canned.status, media_type=JSON, headers={"x-acklog-next-offset": "0"})

    return app


async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
    """The least that an ASGI application can do."""
    while (await receive()).get("more_body", False):
        pass
    headers = [(b"content-length", b"%d" % len(STORED)), (b"content-type", JSON.encode())]
    status = 201 if scope["method"] == "POST" else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": STORED})


def main(kind: str, port: int = typer.Option(...)) -> None:
    if kind not in KINDS:
        raise typer.BadParameter(f"{kind} is none of {', '.join(KINDS)}")
    if kind == "protocol":
        bare_protocol.serve(port)
        return
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
        timeout_keep_alive=75,  # as the server's: at a fixed rate some connections have nothing to do for a while
    )


if __name__ == "__main__":
    typer.run(main)
