"""What a supervisor says to a worker, whenever it says it."""

import asyncio
import socket

from app.workers.supervisor_channel import RELOAD, SupervisorChannel


def test_a_reload_during_a_start_is_made_once_the_worker_serves() -> None:
    supervisor, own = socket.socketpair()
    channel = SupervisorChannel(own)
    reloads: list[str] = []

    async def serving() -> None:
        supervisor.send(RELOAD)
        for _ in range(20):  # turns of the loop, in which it is read
            await asyncio.sleep(0)
        with channel.heeding(stop=lambda: None, reload=lambda: reloads.append("now")):
            assert reloads == ["now"]

    with supervisor, own:
        channel.run(serving())
