"""Functions as tasks: `@tasks.task`, `.delay()`, `.get()`, and a worker that performs them."""

import time
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from acklog import Client
from acklog.messages import Message

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
RESULTS_KEPT_MS = 86_400_000


class RetryLaterError(Exception):
    """Raised by a task: perform it again after `delay_s` seconds."""

    def __init__(self, delay_s: float) -> None:
        super().__init__(f"again in {delay_s} s")
        self.delay_s = delay_s


class TaskFailedError(Exception):
    """The task has used up its attempts; its message is in the dead-letter topic."""


class Pending(Generic[Result]):
    """A task that was sent. Its id is its message's."""

    def __init__(self, client: Client, results: str, task_id: str) -> None:
        self.task_id = task_id
        self._client = client
        self._results = results

    def get(self, timeout_s: float) -> Result:
        """Wait for the result. Raises TaskFailedError, TimeoutError."""
        deadline_s = time.monotonic() + timeout_s
        sent_ms = self._client.look(self.task_id).message.append_time_ms
        page = self._client.records(self._results, 0, time_ms=sent_ms)  # no result is older than its task
        while True:
            for message in page.messages:
                if message.key == self.task_id:
                    if "error" in message.body:
                        raise TaskFailedError(message.body["error"])
                    value: Result = message.body["value"]
                    return value
            left_s = round(deadline_s - time.monotonic(), 3)
            if left_s <= 0:
                raise TimeoutError(f"task {self.task_id} has no result after {timeout_s} s")
            page = self._client.records(self._results, 0, offset=page.next_offset, wait_s=min(20, left_s))


class Task(Generic[Parameters, Result]):
    """A function that may be called here and now, or sent with `delay`."""

    def __init__(self, tasks: "Tasks", function: Callable[Parameters, Result]) -> None:
        self._tasks = tasks
        self._function = function

    def __call__(self, *arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        return self._function(*arguments, **options)

    def delay(self, *arguments: Parameters.args, **options: Parameters.kwargs) -> Pending[Result]:
        """Send it. When this returns, the task is on disk. Arguments are what JSON can hold."""
        body = {"task": self._function.__name__, "arguments": arguments, "options": options}
        sent = self._tasks.client.send(self._tasks.topic, body)
        return Pending(self._tasks.client, self._tasks.results, str(sent.message_id))


class Tasks:
    """A registry of functions, a topic of calls to them, and a topic of what they returned."""

    def __init__(self, client: Client, topic: str = "tasks", *, attempts_max: int = 4) -> None:
        self.client = client
        self.topic = topic
        self.results = f"{topic}.results"
        self._attempts_max = attempts_max
        self._functions: dict[str, Task[..., Any]] = {}

    def task(self, function: Callable[Parameters, Result]) -> Task[Parameters, Result]:
        """A decorator. The function's name is what messages say: renaming it orphans those under way."""
        task = Task(self, function)
        self._functions[function.__name__] = task
        return task

    def create_topics(self) -> None:
        self.client.topics.create(self.topic)
        self.client.topics.create(self.results, partitions=1, retention_ms=RESULTS_KEPT_MS)
        self.client.groups.create("workers", max_attempts=self._attempts_max)

    def work(self, concurrency: int = 4) -> None:
        """Perform tasks until SIGTERM."""
        self.create_topics()
        self.client.consumer(self.topic, group="workers").run(self._perform, concurrency=concurrency)

    def _perform(self, message: Message) -> None:
        """The result is stored before the task is acked: a crash in between performs it again, and the first counts."""
        call = message.body
        try:
            value = self._functions[call["task"]](*call["arguments"], **call["options"])
        except Exception as error:
            if message.attempt >= self._attempts_max:
                self.client.send(self.results, {"error": repr(error)}, key=message.message_id)
            elif isinstance(error, RetryLaterError):
                message.nack(delay_s=error.delay_s)
                return
            raise
        self.client.send(self.results, {"value": value}, key=message.message_id)
