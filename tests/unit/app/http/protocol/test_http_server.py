"""Two processes that start with the same address at once."""

import asyncio
import socket

import pytest
import uvicorn
import uvloop

from app.configuration.setting_error import SettingsError
from app.http.protocol.server import HttpServer, bind

HOST = "127.0.0.1"


async def no_application(_scope: object, _receive: object, _send: object) -> None:
    raise AssertionError("nobody asks")


async def start_after_another() -> list[str]:
    """Both have bound the port; the other one listens first."""
    ended: list[str] = []

    async def note_the_end() -> None:
        ended.append("after_stop")

    with socket.socket() as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        first.bind((HOST, 0))
        port = first.getsockname()[1]
        second = bind(HOST, port, what_to_do="Give another one.")
        first.listen()
        server = HttpServer(
            uvicorn.Config(no_application, lifespan="off", log_config=None),
            on_listening=lambda port: ended.append(f"listens on {port}"),
            before_stop=note_the_end,
            after_stop=note_the_end,
        )
        with pytest.raises(SettingsError, match=rf"^Cannot listen on {HOST}:{port}: Address already in use\. Another"):
            await server.serve(sockets=[second])
        second.close()
    return ended


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_second_says_that_the_address_is_taken_and_closes_what_it_has_begun(new_loop: object) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:  # type: ignore[arg-type]
        assert runner.run(start_after_another()) == ["after_stop"]
