"""Users as Acklog has them, for locust.

`make load PROFILE=mixed` runs them against a server of its own. Against another one, or with locust's web page:

    locust -f loadtests/locustfile.py --profile mixed --host http://127.0.0.1:8080

Without --users there are as many as the profile says. The exit code is 1 when a threshold of the profile is missed.

Each user waits for its answer before it goes on: when the server stalls, fewer requests are made and the latencies
leave out those that were not. What the server can do is measured by `make bench`; this is what it is like to use.
"""

import json
import random
import sys
from collections.abc import Collection, Mapping
from time import sleep
from typing import Any
from urllib.request import Request, urlopen

from locust import FastHttpUser, between, constant, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

from loadtests.load_profiles import (
    GROUP,
    LONG_POLL_S,
    TOPIC,
    RequestStatistics,
    profile_named,
    violations,
)

BATCH_MESSAGES = 200
CUSTOMERS = 500
RECEIVE_MAX = 20
FLAKY_SHARE = 0.3
SLOW_VISIBILITY_S = 2
SLOW_STEPS = 3  # each as long as half of the lease, so that the work takes longer than it
RETRY_AFTER_MAX_S = 2.0
PEEKED_MESSAGES = 10
SET_UP_TIMEOUT_S = 30


class AcklogUser(FastHttpUser):
    """How all of them ask. (`sleep` is locust's: it holds up one user, and not the process.)"""

    abstract = True

    def ask(
        self,
        name: str,
        method: str,
        target: str,
        document: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        expected: Collection[int] = (200,),
    ) -> Any:
        """The answer's JSON; None when it is not one of those expected, which counts as a failure of `name`. An answer
        that says when to come back is obeyed."""
        body = None if document is None else json.dumps(document)
        sent = {"content-type": "application/json", **(headers or {})}
        with self.client.request(method, target, name=name, data=body, headers=sent, catch_response=True) as answer:
            if answer.status_code in expected:
                answer.success()
                return answer.json()
            answer.failure(f"{answer.status_code} {_code_of(answer.text)}")
            retry_after = (answer.headers or {}).get("retry-after")
        if retry_after is not None:
            sleep(min(float(retry_after), RETRY_AFTER_MAX_S))
        return None


def _code_of(text: str | None) -> str:
    """The problem's code, so that failures are counted by kind."""
    try:
        document = json.loads(text or "")
    except ValueError:
        return "no JSON"
    if not isinstance(document, dict):
        return "no problem"
    return str(document.get("code") or f"{document.get('failed', '?')} items failed")


def _event() -> dict[str, object]:
    customer = f"customer-{random.randrange(CUSTOMERS):05}"
    body = {"type": "order.placed", "customer": customer, "order": random.randrange(10**9), "total": "129.90"}
    return {"key": customer, "body": body}


class WebBackend(AcklogUser):
    """Posts an event for each of its own requests; some with an idempotency key, as retries need it."""

    wait_time = between(0.02, 0.1)

    @task(4)
    def send(self) -> None:
        self.ask("send one", "POST", "/messages", {"queue": TOPIC, **_event()}, expected=(201,))

    @task(1)
    def send_with_key(self) -> None:
        key = {"Idempotency-Key": f"{random.getrandbits(96):024x}"}
        document = {"queue": TOPIC, **_event()}
        self.ask("send one, keyed", "POST", "/messages", document, headers=key, expected=(201,))


class BatchProducer(AcklogUser):
    """Brings its events by the hundred."""

    wait_time = constant(0.2)

    @task
    def send(self) -> None:
        document = {"queue": TOPIC, "messages": [_event() for _ in range(BATCH_MESSAGES)]}
        self.ask("send batch", "POST", "/messages", document, expected=(201,))


class Worker(AcklogUser):
    """Receives, works a moment, acknowledges."""

    wait_time = constant(0)
    query = f"queue={TOPIC}&group={GROUP}&max={RECEIVE_MAX}&waitSeconds={LONG_POLL_S}"

    @task
    def work(self) -> None:
        answer = self.ask("receive", "GET", f"/messages?{self.query}")
        receipts = [message["receipt"] for message in (answer or {}).get("messages", [])]
        if receipts:
            self.handle(receipts)

    def handle(self, receipts: list[str]) -> None:
        sleep(random.uniform(0, 0.02))
        self.ask("ack", "POST", "/ack", {"receipts": receipts})


class FlakyWorker(Worker):
    """Gives some of them back."""

    def handle(self, receipts: list[str]) -> None:
        sleep(random.uniform(0, 0.02))
        failed = {receipt for receipt in receipts if random.random() < FLAKY_SHARE} or {receipts[0]}
        self.ask("nack", "POST", "/nack", {"receipts": sorted(failed), "delaySeconds": 1})
        if done := [receipt for receipt in receipts if receipt not in failed]:
            self.ask("ack", "POST", "/ack", {"receipts": done})


class SlowWorker(Worker):
    """Works for longer than its lease, which it extends in time."""

    query = f"queue={TOPIC}&group={GROUP}&max=2&waitSeconds={LONG_POLL_S}&visibilitySeconds={SLOW_VISIBILITY_S}"

    def handle(self, receipts: list[str]) -> None:
        for _ in range(SLOW_STEPS):
            sleep(SLOW_VISIBILITY_S / 2)
            self.ask("extend", "POST", "/extend", {"receipts": receipts, "visibilitySeconds": SLOW_VISIBILITY_S})
        self.ask("ack", "POST", "/ack", {"receipts": receipts})


class Dashboard(AcklogUser):
    """Looks at everything and touches nothing."""

    wait_time = between(0.2, 0.6)

    @task
    def list_topics(self) -> None:
        self.ask("list topics", "GET", "/topics")

    @task
    def list_groups(self) -> None:
        self.ask("list groups", "GET", "/groups")

    @task
    def lag(self) -> None:
        self.ask("lag", "GET", f"/groups/{GROUP}/offsets?topic={TOPIC}")

    @task
    def peek(self) -> None:
        topic = self.ask("describe topic", "GET", f"/topics/{TOPIC}")
        if topic is None:
            return
        state = random.choice(topic["partitionStates"])
        offset = max(state["logStart"] or 0, (state["highWatermark"] or 0) - PEEKED_MESSAGES)
        target = f"/topics/{TOPIC}/partitions/{state['partition']}/records?offset={offset}&maxBytes=65536"
        records = self.ask("peek", "GET", target)
        if records and records["records"]:
            message_id = random.choice(records["records"])["messageId"]
            self.ask("look at message", "GET", f"/messages/{message_id}")


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: LocustArgumentParser) -> None:
    """`--profile` is locust's own."""
    parser.add_argument(
        "--p95-scale", type=float, default=1.0, help="Widens the profile's latencies on a slow machine."
    )


@events.init.add_listener  # type: ignore[untyped-decorator]
def choose_users(environment: Environment, **_: object) -> None:
    """Only the profile's classes, in its proportions, and as many users as it says unless --users does. Raises
    SystemExit for a profile that does not exist."""
    options = environment.parsed_options
    assert options is not None
    try:
        profile = profile_named(options.profile)
    except ValueError as error:
        raise SystemExit(f"--profile: {error}") from None
    environment.user_classes = [each for each in environment.user_classes if each.__name__ in profile.users]
    for each in environment.user_classes:
        each.weight = profile.users[each.__name__]
    options.num_users = options.num_users or profile.user_count
    options.spawn_rate = options.spawn_rate or options.num_users


@events.test_start.add_listener  # type: ignore[untyped-decorator]
def create_topic_and_group(environment: Environment, **_: object) -> None:
    """So that nobody looks at what is not there yet."""
    for target, document in ((f"/topics/{TOPIC}", {"partitions": 8}), (f"/groups/{GROUP}", {})):
        request = Request(f"{environment.host}{target}", json.dumps(document).encode(), method="PUT")
        request.add_header("content-type", "application/json")
        urlopen(request, timeout=SET_UP_TIMEOUT_S).close()


@events.quitting.add_listener  # type: ignore[untyped-decorator]
def judge(environment: Environment, **_: object) -> None:
    """Says what the run did not keep to, and makes it the exit code."""
    options = environment.parsed_options
    assert options is not None
    assert environment.runner is not None
    entries = environment.stats.entries.values()
    statistics = [
        RequestStatistics(
            name=entry.name,
            requests=entry.num_requests,
            failures=entry.num_failures,
            p95_ms=entry.get_response_time_percentile(0.95) if entry.num_requests else None,
        )
        for entry in entries
    ]
    found = violations(
        profile_named(options.profile),
        statistics,
        exceptions=sum(each["count"] for each in environment.runner.exceptions.values()),
        p95_scale=options.p95_scale,
    )
    for sentence in found:
        print(f"missed: {sentence}", file=sys.stderr)
    if not found:
        print(f"profile {options.profile}: every threshold kept", file=sys.stderr)
    environment.process_exit_code = 1 if found else 0
