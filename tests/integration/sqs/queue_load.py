"""Producers and consumers of one queue, as services have them: boto3, in threads. What fails is done again by them; a
send of a FIFO queue with the same deduplication id, so that one whose outcome is unknown happens once."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.integration.sqs.queue_history import Fault, Got, Outcome, QueueHistory, Received, Sent, Settled, body_of
from tests.support.waiting import wait_until

PATIENCE_S = 90
PAUSE_S = 0.5
UNDONE_MAX = 500
"""Who sends waits for who consumes, and so the end of a run does not depend on how long it was."""
SERVER_FAULTS_FROM = 500
NOT_TEXT = "\x0c"
"""A body that no queue takes."""


def sqs_client(url: str) -> Any:
    """It does nothing twice by itself."""
    return boto3.session.Session().client(
        "sqs",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLEOFACKLOG00",
        aws_secret_access_key="a-secret-of-a-server-without-tokens",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30, max_pool_connections=32),
    )


class QueueLoad:
    """On a queue that is there. `urls` are those of all gateways; each call goes to the next one."""

    def __init__(self, urls: Sequence[str], queue_url: str, *, is_fifo: bool) -> None:
        self.history = QueueHistory()
        self._clients = itertools.cycle([sqs_client(url) for url in urls])
        self._queue_url = queue_url
        self._is_fifo = is_fifo
        self._has_sent_enough = threading.Event()
        self._is_over = threading.Event()
        self._crashes: list[BaseException] = []

    @contextmanager
    def running(self, *, producers: int, consumers: int) -> Iterator[None]:
        """At the end nothing more is sent, and all that was acknowledged is consumed."""
        work = [lambda name=f"one-{number}": self._produce_singly(name) for number in range(producers)]
        work.append(lambda: self._produce_batches([f"batch-{number}" for number in range(4)]))
        producing = [threading.Thread(target=self._guarded, args=(each,)) for each in work]
        consuming = [threading.Thread(target=self._guarded, args=(self._consume,)) for _ in range(consumers)]
        for thread in (*producing, *consuming):
            thread.start()
        try:
            yield
            self._has_sent_enough.set()
            for thread in producing:
                thread.join()
            self._await_all_consumed()
        finally:
            self._has_sent_enough.set()
            self._is_over.set()
            for thread in (*producing, *consuming):
                thread.join()
        assert not self._crashes, self._crashes

    def _await_all_consumed(self) -> None:
        try:
            wait_until(
                lambda: self._crashes or not self.history.missing(), seconds=PATIENCE_S, what="all to be consumed"
            )
        except AssertionError as error:
            missing = sorted(self.history.missing())
            raise AssertionError(f"{error}: {len(missing)} are missing, among them {missing[:5]}") from None

    def progress(self, sends: int) -> None:
        """Wait until so many more messages were acknowledged."""
        wanted = self.history.acknowledged_count + sends
        wait_until(
            lambda: self._crashes or self.history.acknowledged_count >= wanted,
            seconds=PATIENCE_S,
            what=f"{sends} more sends",
        )

    @contextmanager
    def fault(self) -> Iterator[None]:
        """Leases may be forgotten while the block runs."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self.history.faults.append(Fault(began_s=began_s, ended_s=time.monotonic()))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as crash:
            self._crashes.append(crash)

    # --- producers -------------------------------------------------------------------------------------------------

    def _produce_singly(self, group: str) -> None:
        """One after the other; every seventh is sent once more although it is known to be there."""
        for number in itertools.count():
            self._await_consumers()
            if self._has_sent_enough.is_set():
                return
            body = body_of(group, number)
            self._until_sent(body, group)
            if self._is_fifo and number % 7 == 0:
                self._until_sent(body, group)

    def _await_consumers(self) -> None:
        while self.history.undone_count > UNDONE_MAX and not self._has_sent_enough.is_set():
            self._is_over.wait(PAUSE_S)

    def _until_sent(self, body: str, group: str) -> None:
        while not self._is_over.is_set():
            began_s = time.monotonic()
            answer, outcome = self._asked("send_message", MessageBody=body, **self._order(body, group))
            assert outcome is not Outcome.REFUSED, answer
            message_id = answer.get("MessageId", "")
            self._note_send(body, message_id, outcome, began_s)
            if outcome is Outcome.OK:
                return

    def _produce_batches(self, groups: Sequence[str]) -> None:
        """One of each group in a batch, and one among them that is wrong."""
        for number in itertools.count():
            self._await_consumers()
            missing = {group: body_of(group, number) for group in groups}
            while missing and not self._is_over.is_set():
                missing = self._send_batch(missing, number)
            if self._has_sent_enough.is_set():
                return

    def _send_batch(self, bodies: dict[str, str], number: int) -> dict[str, str]:
        """Those that are to be sent again."""
        wrong = {"Id": "wrong", "MessageBody": NOT_TEXT + body_of("wrong", number), **self._order("wrong", "wrong")}
        entries = [{"Id": group, "MessageBody": body, **self._order(body, group)} for group, body in bodies.items()]
        entries.insert(len(entries) // 2, wrong)
        began_s = time.monotonic()
        answer, outcome = self._asked("send_message_batch", Entries=entries)
        assert outcome is not Outcome.REFUSED, answer
        sent = {each["Id"]: each["MessageId"] for each in answer.get("Successful", ())}
        failed = {each["Id"]: each for each in answer.get("Failed", ())}
        if outcome is Outcome.OK:
            assert set(sent) | set(failed) == {*bodies, "wrong"}, answer
            assert failed["wrong"]["SenderFault"], answer
            assert not any(failed[group]["SenderFault"] for group in bodies if group in failed), answer
        for group, body in bodies.items():
            known = Outcome.OK if group in sent else Outcome.UNKNOWN
            self._note_send(body, sent.get(group, ""), known, began_s)
        return {group: body for group, body in bodies.items() if group not in sent}

    def _order(self, body: str, group: str) -> dict[str, str]:
        return {"MessageGroupId": group, "MessageDeduplicationId": body} if self._is_fifo else {}

    def _note_send(self, body: str, message_id: str, outcome: Outcome, began_s: float) -> None:
        self.history.sent(
            Sent(body=body, message_id=message_id, outcome=outcome, began_s=began_s, ended_s=time.monotonic())
        )

    # --- consumers -------------------------------------------------------------------------------------------------

    def _consume(self) -> None:
        """Some messages are given back, and some are let go: what is behind them in their group is, too."""
        for number in itertools.count(1):
            if self._is_over.is_set():
                return
            received, handles = self._receive()
            let_go: set[str] = set()
            for index, message in enumerate(received.messages):
                group = message.body.rpartition(":")[0]
                if group in let_go:
                    continue
                if number % 11 == 0 and index == 1:
                    let_go.add(group)
                elif number % 13 == 0 and index == 1:
                    let_go.add(group)
                    self._settle(received, message, handles[index], is_delete=False)
                elif self._settle(received, message, handles[index], is_delete=True) is not Outcome.OK:
                    let_go.add(group)

    def _receive(self) -> tuple[Received, list[str]]:
        began_s = time.monotonic()
        answer, outcome = self._asked(
            "receive_message", MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["ApproximateReceiveCount"]
        )
        assert outcome is not Outcome.REFUSED, answer
        messages = answer.get("Messages", [])
        received = Received(
            began_s=began_s,
            ended_s=time.monotonic(),
            outcome=outcome,
            messages=tuple(
                Got(
                    body=each["Body"],
                    message_id=each["MessageId"],
                    attempt=int(each["Attributes"]["ApproximateReceiveCount"]),
                )
                for each in messages
            ),
        )
        self.history.received(received)
        return received, [each["ReceiptHandle"] for each in messages]

    def _settle(self, received: Received, message: Got, handle: str, *, is_delete: bool) -> Outcome:
        call, more = ("delete_message", {}) if is_delete else ("change_message_visibility", {"VisibilityTimeout": 0})
        began_s = time.monotonic()
        _, outcome = self._asked(call, ReceiptHandle=handle, **more)
        self.history.settled(
            Settled(
                body=message.body,
                message_id=message.message_id,
                received=received,
                outcome=outcome,
                is_delete=is_delete,
                began_s=began_s,
                ended_s=time.monotonic(),
            )
        )
        return outcome

    def _asked(self, call: str, **members: Any) -> tuple[dict[str, Any], Outcome]:
        """The answer; one that says what was wrong with the request is REFUSED, any other failure UNKNOWN."""
        client = next(self._clients)
        try:
            answer = getattr(client, call)(QueueUrl=self._queue_url, **members)
            return (answer, Outcome.OK) if _is_whole(answer) else ({}, Outcome.UNKNOWN)
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            throttled = error.response["Error"]["Code"] == "RequestThrottled"
            is_unknown = status >= SERVER_FAULTS_FROM or throttled
            return {"refused": error.response["Error"]}, Outcome.UNKNOWN if is_unknown else Outcome.REFUSED
        except BotoCoreError:
            self._is_over.wait(PAUSE_S)  # nobody is there: who starts needs the processor
            return {}, Outcome.UNKNOWN


def _is_whole(answer: dict[str, Any]) -> bool:
    """boto3 takes an answer that was cut off behind its head for one that says nothing."""
    metadata = answer["ResponseMetadata"]
    says_nothing = answer.keys() == {"ResponseMetadata"}
    return not says_nothing or int(metadata["HTTPHeaders"]["content-length"]) <= len("{}")
