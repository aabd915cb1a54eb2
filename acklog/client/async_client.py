"""The client for asyncio. `acklog.client.client` has the same without `await`."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from acklog import runtime
from acklog.client import catalog_calls, message_calls
from acklog.client.address import base_url_of, given_or_found, headers_of
from acklog.client.aiohttp_transport import AiohttpTransport
from acklog.client.async_audit_log import AsyncAuditLog
from acklog.client.async_catalog import AsyncGroups, AsyncTopics
from acklog.client.async_cluster import AsyncCluster
from acklog.client.async_copies import AsyncCopies
from acklog.client.async_encryption import AsyncEncryption
from acklog.client.async_namespaces import AsyncNamespaces
from acklog.client.async_redrives import AsyncRedrives
from acklog.client.async_scheduled import AsyncScheduled
from acklog.client.async_schedules import AsyncSchedules
from acklog.client.async_streams import AsyncStreams
from acklog.client.async_tables import AsyncTables
from acklog.client.async_tokens import AsyncTokens
from acklog.client.caller import Caller
from acklog.client.connection_tls import context_maker
from acklog.client.delivery_time import DeliverAt
from acklog.client.message_calls import Acks, Receipts, raised_if_one
from acklog.client.renewed_token import renewed_token
from acklog.client.retry import Backoff
from acklog.client.tls_files import ClientTlsFiles
from acklog.client.transport import Transport
from acklog.errors import AcklogError
from acklog.messages import LookedAt, OutgoingMessage, Received, RecordsPage, Sent, Settled
from acklog.version import __version__

if TYPE_CHECKING:
    from ssl import SSLContext
    from typing import Unpack

    from acklog.body_encryption.body_encryption import BodyEncryption
    from acklog.consumer.async_consumer import AsyncConsumer, AsyncHandler
    from acklog.consumer.engine import OnProblem
    from acklog.consumer.source import ConsumerArguments, Mode
    from acklog.producer.async_producer import AsyncProducer
    from acklog.producer.placement import Partitioner
    from acklog.producer.producer_settings import ProducerOptions


_Handler = TypeVar("_Handler", bound="AsyncHandler")


class AsyncClient(AsyncStreams):
    """A client of one server, for use in one event loop. Close it, or use it as a context manager.

    Without a `url` it is that of the environment's ACKLOG_URL, else http://127.0.0.1:8080; without a `token`, that of
    ACKLOG_TOKEN. A token that is renewed is given as a `token_file`, or as a function that gives the token of now and
    does not wait; each is asked once a second at most.

    `timeout_s` is the deadline of a call, with all its retries; waiting for messages (`wait_s`) comes on top. A call
    that failed for a passing reason is tried again `retries_max` times, a send without an idempotency key only where
    it is certain that nothing was stored. `transport` is what carries requests; by default aiohttp, with
    `connections_max` connections at most.

    Of a server that is called by https, `ca_file` says whose certificates to trust instead of the system's authorities,
    and `certificate_file` and `key_file` who calls, where it asks: all PEM, else those of ACKLOG_CA_FILE,
    ACKLOG_CERTIFICATE_FILE and ACKLOG_KEY_FILE. Files that change are taken for new connections. `tls` is a context of
    your own in their place.

    With `body_encryption` all bodies are encrypted before they are sent, and decrypted when they come: the server sees
    none. See `acklog.body_encryption`.

    Every call raises AcklogError: a subclass per problem code, or ConnectionFailed, DeadlineExceeded and the like.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | Callable[[], str] | None = None,
        token_file: str | None = None,
        timeout_s: float = 30.0,
        retries_max: int = 3,
        connections_max: int = 100,
        ca_file: str | None = None,
        certificate_file: str | None = None,
        key_file: str | None = None,
        tls: "SSLContext | None" = None,
        body_encryption: "BodyEncryption | None" = None,
        transport: Transport | None = None,
    ) -> None:
        renewed = renewed_token(token, token_file, now_ms=runtime.monotonic_ms)
        url, fixed = given_or_found(url, token if isinstance(token, str) else None, runtime.variable)
        self.url = base_url_of(url)
        if transport is None:
            headers = headers_of(fixed if renewed is None else None, version=__version__)
            files = ClientTlsFiles(ca_file, certificate_file, key_file)
            maker = context_maker(self.url, files, tls, variable=runtime.variable, now_ms=runtime.monotonic_ms)
            transport = AiohttpTransport(
                self.url,
                headers,
                connections_max=connections_max,
                authorization=None if renewed is None else renewed.bearer,
                tls=maker,
            )
        self.caller = Caller(
            transport,
            timeout_s=timeout_s,
            retries_max=retries_max,
            backoff=Backoff(max_ms=2_000),
            chance=runtime.fraction,
            body_encryption=body_encryption,
        )
        self.topics = AsyncTopics(self.caller)
        self.groups = AsyncGroups(self.caller)
        self.scheduled = AsyncScheduled(self.caller)
        self.schedules = AsyncSchedules(self.caller)
        self.tables = AsyncTables(self.caller)
        self.copies = AsyncCopies(self.caller)
        self.encryption = AsyncEncryption(self.caller)
        self.redrives = AsyncRedrives(self.caller)
        self.tokens = AsyncTokens(self.caller)
        self.audit = AsyncAuditLog(self.caller)
        self.namespaces = AsyncNamespaces(self.caller)
        self.cluster = AsyncCluster(self.caller)
        self._handlers: list[tuple[AsyncConsumer, AsyncHandler, int]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Close producers and consumers first."""
        await self.caller.close()

    async def send(
        self,
        topic: str,
        body: Any,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        tags: Sequence[str] | None = None,
        timestamp_ms: int | None = None,
        partition: int | None = None,
        dedup_id: str | None = None,
        content_type: str | None = None,
        delay_seconds: float | None = None,
        deliver_at: DeliverAt | None = None,
        ttl_seconds: float | None = None,
        acks: Acks = None,
        idempotency_key: str | None = None,
    ) -> Sent:
        """Send one message; it is on disk when this returns. `body` is anything that JSON can hold, or bytes.

        With an `idempotency_key` (or `dedup_id`) the message is stored once, however often it is sent within the
        topic's window, and the call is tried again when its outcome is unknown. `acks` is on how many replicas it is to
        be durable: "all" (the default), a number, or 0 for "do not wait". With `delay_seconds` or `deliver_at` it is
        seen later: the answer has its `schedule_id`, by which `client.scheduled` finds it. With `ttl_seconds` nobody is
        given it that long after it could be seen first.
        """
        message = OutgoingMessage(
            body,
            key,
            None if headers is None else dict(headers),
            None if tags is None else list(tags),
            timestamp_ms,
            partition,
            dedup_id,
            content_type,
            delay_seconds,
            deliver_at,
            ttl_seconds,
        )
        [message] = await self.caller.encrypted(topic, [message])
        return await self.caller.perform(message_calls.send(topic, message, acks=acks, idempotency_key=idempotency_key))

    async def send_many(
        self,
        topic: str,
        messages: Sequence[OutgoingMessage],
        *,
        acks: Acks = None,
        idempotency_key: str | None = None,
    ) -> list[Sent | AcklogError]:
        """Send up to 10,000 messages in one request; a result for each, in order: one that failed is an error in the
        list and does not hurt its neighbours (`acklog.raise_for_failures` raises it). Raises only what concerns the
        whole request."""
        messages = await self.caller.encrypted(topic, messages)
        return await self.caller.perform(
            message_calls.send_many(topic, messages, acks=acks, idempotency_key=idempotency_key)
        )

    async def receive(
        self,
        topics: str | Sequence[str],
        *,
        group: str | None = None,
        max_messages: int = 10,
        max_bytes: int | None = None,
        wait_s: float = 0,
        visibility_s: float | None = None,
        consumer: str | None = None,
        auto_ack: bool = False,
        mode: "Mode | None" = None,
        message_filter: str | None = None,
    ) -> Received:
        """Lease up to `max_messages` messages, waiting up to `wait_s` seconds (20 at most) for the first.

        Without a `group` it is that named "default", of the topics' namespace. They are yours for
        `visibility_s` seconds (None: as the group has it): ack, nack or extend them in that time. With
        `auto_ack` they are done as soon as they are returned, and lost if you crash. `mode` is how the group
        has to share the topics; with "exclusive" the call takes part under the name `consumer`. A consumer does
        all that for you. `message_filter` takes only what matches and leaves the rest to others (shared
        groups). Raises TopicNotFound, WrongGroupMode, InvalidFilter.
        """
        call = message_calls.receive(
            topics,
            group=group,
            max_messages=max_messages,
            max_bytes=max_bytes,
            wait_s=wait_s,
            visibility_s=visibility_s,
            consumer=consumer,
            auto_ack=auto_ack,
            mode=mode,
            message_filter=message_filter,
        )
        return await self.caller.perform(call)

    async def ack(self, receipts: Receipts) -> list[Settled]:
        """The messages (or their receipts) are done: durable when this returns.

        For one message, not in a list, its error is raised: ReceiptStale where it is somebody else's by now. For a list
        there is a result for each, in order, and those that could not be settled have an `error`:
        `acklog.raise_for_failures(results)` raises it. What concerns the whole request is always raised.
        """
        return raised_if_one(receipts, await self.caller.perform(message_calls.ack(receipts)))

    async def nack(self, receipts: Receipts, *, delay_s: float | None = None, reason: str = "") -> list[Settled]:
        """Give the messages back, to come again after `delay_s` seconds; None: by the group's back-off. `reason` says
        why; its first 256 bytes are kept with them. Raises as `ack` does."""
        call = message_calls.nack(receipts, delay_s=delay_s, reason=reason)
        return raised_if_one(receipts, await self.caller.perform(call))

    async def extend(self, receipts: Receipts, *, visibility_s: float) -> list[Settled]:
        """Keep the messages leased for `visibility_s` seconds from now; 0 gives them back at once. Raises as
        `ack` does."""
        call = message_calls.extend(receipts, visibility_s=visibility_s)
        return raised_if_one(receipts, await self.caller.perform(call))

    async def ack_message_id(self, message_id: str | Sequence[str], *, group: str | None = None) -> list[Settled]:
        """As `ack`, by the ids of messages that were delivered to the group. For one id NotDelivered is raised where it
        was not."""
        ids = [message_id] if isinstance(message_id, str) else message_id
        return raised_if_one(message_id, await self.caller.perform(message_calls.ack_message_ids(ids, group=group)))

    async def look(self, message_id: str) -> LookedAt:
        """The message, and what each group has done with it; nothing is leased. Raises MessageNotFound,
        MessageExpired, TopicNotFound, InvalidMessageId."""
        return await self.caller.perform(message_calls.look(message_id))

    async def records(
        self,
        topic: str,
        partition: int,
        *,
        offset: int | str | None = None,
        epoch: int | None = None,
        time_ms: int | None = None,
        max_bytes: int | None = None,
        wait_s: float = 0,
        message_filter: str | None = None,
    ) -> RecordsPage:
        """The partition's log from `offset` (a number, "earliest", "latest") or from what was appended at `time_ms`;
        no group, no lease. Who goes on at a page's `next_offset` may give its `epoch`, and is told if the log was cut
        since. With `message_filter` a page holds what matches, and may be empty with more behind it: go on at its
        `next_offset`. Raises TopicNotFound, PartitionNotFound, OffsetOutOfRange, LogDiverged, InvalidFilter."""
        call = message_calls.records(
            topic,
            partition,
            offset=offset,
            epoch=epoch,
            time_ms=time_ms,
            max_bytes=max_bytes,
            wait_s=wait_s,
            message_filter=message_filter,
        )
        return await self.caller.perform(call)

    async def health(self) -> dict[str, str]:
        """`{"status": "alive"}` from a server that runs."""
        return await self.caller.perform(catalog_calls.status("/healthz"))

    async def ready(self) -> dict[str, str]:
        """`{"status": "ready"}` from a server that can serve. Raises what keeps it: Unavailable, ShuttingDown, ..."""
        return await self.caller.perform(catalog_calls.status("/readyz"))

    async def metrics(self) -> str:
        """The server's metrics, in Prometheus' text format."""
        return await self.caller.perform(message_calls.metrics)

    def producer(
        self,
        topic: str,
        *,
        name: str | None = None,
        acks: Acks = None,
        partitioner: "Partitioner | None" = None,
        **settings: "Unpack[ProducerOptions]",
    ) -> "AsyncProducer":
        """A producer for the topic; of those with a `name`, only the last that opened it sends. `settings` are those of
        `ProducerSettings`. Raises InvalidArgument."""
        from acklog.producer.async_producer import AsyncProducer
        from acklog.producer.producer_settings import ProducerSettings

        return AsyncProducer(
            topic,
            self.caller,
            ProducerSettings(**settings),
            producer_id=runtime.unique_name(),
            name=name,
            acks=acks,
            partitioner=partitioner,
        )

    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        group: str | None = None,
        mode: "Mode | None" = None,
        consumer: str | None = None,
        auto_ack: bool = False,
        on_problem: "OnProblem | None" = None,
        **settings: "Unpack[ConsumerArguments]",
    ) -> "AsyncConsumer":
        """A consumer for the topics, as one of the group. `consumer` is the name of this worker. `settings` are those
        of `ConsumerSettings`, and of a member of an exclusive group those of `MemberOptions`. `on_problem` is told of
        acks, nacks and extensions that have failed for good.

        `mode` is how the group shares its topics: "shared", "keyOrdered" or "exclusive"; a group that is not there is
        made with it. Name it where there is an order: then workers side by side keep it, as none gets a message while
        another works on one of its key (or partition).

        `message_filter` takes only what matches, and leaves the rest to others (shared groups).

        With `auto_ack` messages are done as soon as they are received: at most once, and lost if this process dies.
        Raises InvalidArgument.
        """
        from acklog.consumer.async_consumer import AsyncConsumer
        from acklog.consumer.source import source_and_settings

        source, checked = source_and_settings(
            topics,
            group=group,
            mode=mode,
            consumer=consumer,
            auto_ack=auto_ack,
            arguments=settings,
            own_name=runtime.unique_name,
        )
        return AsyncConsumer(source, self.caller, checked, on_problem=on_problem)

    def handler(
        self,
        topics: str | Sequence[str],
        *,
        group: str | None = None,
        mode: "Mode | None" = None,
        concurrency: int = 1,
        **settings: "Unpack[ConsumerArguments]",
    ) -> Callable[[_Handler], _Handler]:
        """A decorator: the function is called with each message once `client.run()` is. See `AsyncConsumer.run`."""

        def register(function: _Handler) -> _Handler:
            consumer = self.consumer(topics, group=group, mode=mode, **settings)
            self._handlers.append((consumer, function, concurrency))
            return function

        return register

    async def run(self) -> None:
        """Call the handlers with messages until SIGTERM or SIGINT, which ends all of them well. When one fails for good
        the others end, too, and its error is raised."""
        from acklog.consumer.async_consumer import run_all

        handlers, self._handlers = self._handlers, []
        await run_all(handlers)
