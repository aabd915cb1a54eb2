import socket

import pytest

from app.configuration.setting_error import SettingsError
from app.http.protocol.server import bind
from app.workers.shared_port import SharedPort


def bound(port: int = 0) -> socket.socket:
    return bind("127.0.0.1", port, what_to_do="")


def test_gateways_share_a_port_that_nobody_else_gets() -> None:
    alone = bound()
    number = alone.getsockname()[1]
    port = SharedPort(alone)
    port.share(2, backlog=16)
    listeners = [port.take(backlog=16) for _ in range(2)]
    assert {each.getsockname()[1] for each in listeners} == {number}
    with pytest.raises(SettingsError, match=f"Cannot listen on 127.0.0.1:{number}"):
        bound(number)
    with socket.create_connection(("127.0.0.1", number), timeout=5):
        pass
    for each in (port, *listeners):
        each.close()


def test_a_gateway_that_is_started_again_gets_another_one() -> None:
    port = SharedPort(bound())
    port.share(2, backlog=16)
    first, second = port.take(backlog=16), port.take(backlog=16)
    number = first.getsockname()[1]
    first.close()
    third = port.take(backlog=16)
    assert third.getsockname()[1] == number
    for each in (port, second, third):
        each.close()


def test_of_two_servers_that_start_at_once_one_gets_the_port() -> None:
    """Both can bind it as long as nobody listens."""
    one = bound()
    other = bound(one.getsockname()[1])
    first, second = SharedPort(one), SharedPort(other)
    first.share(2, backlog=16)
    with pytest.raises(SettingsError, match="Another process has taken it"):
        second.share(2, backlog=16)
    first.close()


def test_one_process_that_starts_at_once_with_it_is_no_sharer_either() -> None:
    one = bound()
    port = SharedPort(bound(one.getsockname()[1]))
    one.listen()
    with pytest.raises(SettingsError, match="Another process has taken it"):
        port.share(2, backlog=16)
    one.close()
