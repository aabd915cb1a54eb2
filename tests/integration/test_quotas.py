"""Quotas of one server on SQLite, in real time."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import acklog
from acklog.errors import QuotaExceeded
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration
PER_SECOND = 5


def test_a_seconds_worth_at_once_and_no_more_than_the_quota(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url, retries_max=0) as client:
        client.topics.create("metered", 2, send_messages_per_second=PER_SECOND)
        began_s = time.monotonic()

        def send(number: int) -> bool:
            try:
                client.send("metered", number)
            except QuotaExceeded as error:
                if error.quota != "topic/metered/sendMessagesPerSecond":
                    raise
                return False
            return True

        with ThreadPoolExecutor(12) as threads:
            sent = sum(threads.map(send, range(12)))
        assert PER_SECOND <= sent <= PER_SECOND * (1.1 * (time.monotonic() - began_s) + 1)
        stored = client.topics.get("metered").partition_states
        assert sum(state.high_watermark or 0 for state in stored) == sent, "what was refused changed nothing"


def test_who_is_refused_comes_again_and_all_is_sent(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url) as client:
        client.topics.create("patient", 1, send_messages_per_second=PER_SECOND)
        began_s = time.monotonic()
        for number in range(3 * PER_SECOND):
            client.send("patient", number)
        assert time.monotonic() - began_s >= 1.5, "a second's worth at once, the rest at the quota's pace"


def test_a_groups_quota_in_every_mode(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url) as client:
        client.topics.create("tapped", 1)
        for number in range(20):
            client.send("tapped", number, key=str(number))
        for mode in ("shared", "keyOrdered", "exclusive"):
            client.groups.create(mode, mode=mode, receive_messages_per_second=PER_SECOND)
            began_s, got = time.monotonic(), 0
            while got < 2 * PER_SECOND:
                found = client.receive("tapped", group=mode, consumer="c", max_messages=20, wait_s=5)
                client.ack(list(found))
                got += len(found)
            assert time.monotonic() - began_s >= 0.8
