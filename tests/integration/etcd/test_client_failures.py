"""What the client does about failures, each told by a fake etcd. None takes longer than its own timeouts."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from cluster.backoff import Backoff
from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.etcd_settings import EtcdUser
from cluster.etcd.etcd_store import EtcdStore
from cluster.etcd.failures import AccessDeniedError
from cluster.etcd.methods import AUTHENTICATE, LEASE_GRANT, LEASE_KEEP_ALIVE, LEASE_REVOKE, RANGE, TXN, WATCH
from cluster.ports.coordination import (
    CoordinationError,
    CoordinationUnavailableError,
    LeaseLostError,
    OutcomeUnknownError,
    Put,
)
from tests.integration.etcd.conftest import StoreMaker
from tests.support.fake_etcd import Context, FakeEtcd

pytestmark = pytest.mark.integration

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
NO_LEADER = (UNAVAILABLE, "etcdserver: no leader")
LEADER_CHANGED = (UNAVAILABLE, "etcdserver: leader changed")
STALE = (grpc.StatusCode.UNAUTHENTICATED, "etcdserver: invalid auth token")
QUICK = {"request_timeout_ms": 2_000, "between_tries": Backoff(first_ms=5, max_ms=20), "close_grace_ms": 50}
PATIENCE_S = 10


@pytest.fixture
async def fake() -> AsyncIterator[FakeEtcd]:
    async with FakeEtcd() as fake:
        yield fake


@pytest.fixture
def store(fake: FakeEtcd, make_store: StoreMaker) -> EtcdStore:
    return make_store(fake.endpoint, **QUICK)


async def until_called(fake: FakeEtcd, method: Any, times: int = 1) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while fake.calls[method] < times:
            await asyncio.sleep(0.001)


# --- transactions ---


async def test_a_write_that_was_refused_without_doing_is_sent_again(fake: FakeEtcd, store: EtcdStore) -> None:
    fake.unary[TXN] = fake.failing(NO_LEADER, (grpc.StatusCode.RESOURCE_EXHAUSTED, "etcdserver: too many requests"))
    assert (await store.transact([], [Put("/a", b"")])).succeeded
    assert fake.calls[TXN] == 3


@pytest.mark.parametrize(
    "failure",
    [LEADER_CHANGED, (grpc.StatusCode.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded")],
)
async def test_a_write_that_may_have_been_done_is_not(
    fake: FakeEtcd, store: EtcdStore, failure: tuple[grpc.StatusCode, str]
) -> None:
    fake.unary[TXN] = fake.failing(failure)
    with pytest.raises(OutcomeUnknownError):
        await store.transact([], [Put("/a", b"")])
    assert fake.calls[TXN] == 1


async def test_a_write_without_an_answer_is_unknown_in_time(fake: FakeEtcd, make_store: StoreMaker) -> None:
    store = make_store(fake.endpoint, **(QUICK | {"request_timeout_ms": 200}))
    fake.unary[TXN] = fake.hang
    with pytest.raises(OutcomeUnknownError):
        await asyncio.wait_for(store.transact([], [Put("/a", b"")]), PATIENCE_S)
    assert fake.calls[TXN] == 1


async def test_a_transaction_that_only_compares_is_a_read(fake: FakeEtcd, store: EtcdStore) -> None:
    fake.unary[TXN] = fake.failing(LEADER_CHANGED)
    assert (await store.transact([], [])).succeeded
    assert fake.calls[TXN] == 2


async def test_nothing_was_sent_where_nobody_listens(fake: FakeEtcd, make_store: StoreMaker) -> None:
    async with FakeEtcd() as gone:
        endpoint = gone.endpoint
    store = make_store(endpoint, **(QUICK | {"request_timeout_ms": 300}))
    with pytest.raises(CoordinationUnavailableError):
        await store.transact([], [Put("/a", b"")])
    with pytest.raises(CoordinationUnavailableError):
        await store.get("/a")
    other = make_store(endpoint, fake.endpoint, **QUICK)
    for _ in range(3):
        assert (await other.transact([], [Put("/a", b"")])).succeeded, "the other endpoint is tried in the same call"


async def test_a_member_without_a_leader_is_left(fake: FakeEtcd, make_store: StoreMaker) -> None:
    async with FakeEtcd() as lonely:
        lonely.unary[TXN] = lonely.failing(*[NO_LEADER] * 100)
        store = make_store(lonely.endpoint, fake.endpoint, **QUICK)
        for _ in range(10):
            assert (await store.transact([], [Put("/a", b"")])).succeeded
        assert fake.calls[TXN] == 10
        assert lonely.calls[TXN] <= 1


async def test_more_than_etcd_takes_is_not_sent(fake: FakeEtcd, make_store: StoreMaker) -> None:
    store = make_store(fake.endpoint, request_bytes_max=1_000, **QUICK)
    overhead = 1_000 - len("/a") - 990
    assert (await store.transact([], [Put("/a", bytes(990 - overhead))])).succeeded
    with pytest.raises(ValueError, match="1000"):
        await store.transact([], [Put("/a", bytes(1_000))])
    assert fake.calls[TXN] == 1


async def test_a_refusal_leaves_everything_as_it_was(fake: FakeEtcd, store: EtcdStore) -> None:
    fake.unary[TXN] = fake.failing((grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: request is too large"))
    with pytest.raises(CoordinationError) as caught:
        await store.transact([], [Put("/a", b"")])
    assert not isinstance(caught.value, OutcomeUnknownError)


# --- limits, cancelling, closing ---


async def test_no_more_calls_at_a_time_than_the_limit(fake: FakeEtcd, make_store: StoreMaker) -> None:
    store = make_store(fake.endpoint, calls_max=2, **QUICK)
    fake.unary[TXN] = fake.hang
    calls = [asyncio.ensure_future(store.transact([], [Put("/a", b"")])) for _ in range(2)]
    await until_called(fake, TXN, 2)
    with pytest.raises(CoordinationUnavailableError):
        await store.get("/a")
    for call in calls:
        call.cancel()
    assert [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)] == [asyncio.CancelledError] * 2
    fake.unary[TXN] = fake.failing()
    assert (await store.transact([], [Put("/a", b"")])).succeeded


async def test_closing_tells_who_waits(fake: FakeEtcd, store: EtcdStore) -> None:
    fake.unary[TXN] = fake.unary[RANGE] = fake.hang
    write = asyncio.ensure_future(store.transact([], [Put("/a", b"")]))
    read = asyncio.ensure_future(store.get("/a"))
    await until_called(fake, TXN)
    await until_called(fake, RANGE)
    await asyncio.wait_for(store.close(), PATIENCE_S)
    with pytest.raises(OutcomeUnknownError):
        await write
    with pytest.raises(CoordinationUnavailableError):
        await read


async def test_no_more_watches_than_the_limit(fake: FakeEtcd, make_store: StoreMaker) -> None:
    store = make_store(fake.endpoint, watches_max=2, **QUICK)
    first, second = store.watch("/", 2), store.watch("/", 2)
    with pytest.raises(CoordinationUnavailableError):
        store.watch("/", 2)
    await first.aclose()
    store.watch("/", 2)
    await second.aclose()


# --- listing ---


async def test_a_listing_that_was_overtaken_by_compactions_starts_over_and_gives_up(
    fake: FakeEtcd, make_store: StoreMaker
) -> None:
    store = make_store(fake.endpoint, listing_page_keys=1, listing_restarts_max=2, **QUICK)
    compactions = 2

    async def page(request: messages.RangeRequest, context: Context) -> messages.RangeResponse:
        nonlocal compactions
        header = messages.ResponseHeader(revision=7)
        if request.revision == 0:
            return messages.RangeResponse(header=header, kvs=[messages.KeyValue(key=b"/a")], more=True)
        if compactions:
            compactions -= 1
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted")
        return messages.RangeResponse(header=messages.ResponseHeader(revision=9), kvs=[messages.KeyValue(key=b"/b")])

    fake.unary[RANGE] = page
    listing = await store.list("/")
    assert (listing.revision, [item.key for item in listing.items]) == (7, ["/a", "/b"])
    compactions = 3
    with pytest.raises(CoordinationUnavailableError):
        await store.list("/")


# --- logging in ---


async def test_one_stale_token_is_one_login_for_all(fake: FakeEtcd, make_store: StoreMaker) -> None:
    valid = "t1"

    async def log_in(request: messages.AuthenticateRequest, context: Context) -> messages.AuthenticateResponse:
        assert (request.name, request.password) == ("me", "secret")
        return messages.AuthenticateResponse(token=valid)

    async def check(request: Any, context: Context) -> Any:
        token = dict(context.invocation_metadata() or ()).get("token")
        if token != valid:
            await context.abort(*STALE)
        return messages.TxnResponse(succeeded=True)

    fake.unary[AUTHENTICATE], fake.unary[TXN] = log_in, check
    store = make_store(fake.endpoint, user=EtcdUser("me", "secret"), **QUICK)
    await asyncio.gather(*(store.transact([], [Put("/a", b"")]) for _ in range(20)))
    assert fake.calls[AUTHENTICATE] == 1
    valid = "t2"
    await asyncio.gather(*(store.transact([], [Put("/a", b"")]) for _ in range(20)))
    assert fake.calls[AUTHENTICATE] == 2


async def test_a_token_that_never_serves_is_not_renewed_for_ever(fake: FakeEtcd, make_store: StoreMaker) -> None:
    async def log_in(request: Any, context: Context) -> messages.AuthenticateResponse:
        return messages.AuthenticateResponse(token="x")

    fake.unary[AUTHENTICATE] = log_in
    fake.unary[TXN] = fake.failing(*[STALE] * 100)
    store = make_store(fake.endpoint, user=EtcdUser("me", "secret"), **QUICK)
    with pytest.raises(AccessDeniedError):
        await store.transact([], [Put("/a", b"")])
    assert fake.calls[TXN] == 3


async def test_an_etcd_that_asks_for_a_user_we_do_not_have(fake: FakeEtcd, store: EtcdStore) -> None:
    fake.unary[TXN] = fake.failing((grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: user name is empty"))
    with pytest.raises(AccessDeniedError, match="user"):
        await store.transact([], [Put("/a", b"")])


async def test_an_etcd_without_authentication_needs_no_token(fake: FakeEtcd, make_store: StoreMaker) -> None:
    off = (grpc.StatusCode.FAILED_PRECONDITION, "etcdserver: authentication is not enabled")
    fake.unary[AUTHENTICATE] = fake.failing(off)
    store = make_store(fake.endpoint, user=EtcdUser("me", "secret"), **QUICK)
    assert (await store.transact([], [Put("/a", b"")])).succeeded
    assert fake.tokens == ["", ""]


# --- leases ---


async def test_a_grant_whose_answer_was_lost_is_found_by_its_own_id(fake: FakeEtcd, store: EtcdStore) -> None:
    asked: list[int] = []

    async def grant(request: messages.LeaseGrantRequest, context: Context) -> messages.LeaseGrantResponse:
        asked.append(request.ID)
        if len(asked) == 1:
            await context.abort(*LEADER_CHANGED)
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "etcdserver: lease already exists")
        raise AssertionError("abort raises")

    fake.unary[LEASE_GRANT] = grant
    lease = await store.grant_lease(1_500)
    assert asked == [lease.lease_id] * 2
    assert lease.ttl_ms == 2_000


async def test_a_revocation_whose_answer_was_lost_is_done(fake: FakeEtcd, store: EtcdStore) -> None:
    gone = (grpc.StatusCode.NOT_FOUND, "etcdserver: requested lease not found")
    fake.unary[LEASE_REVOKE] = fake.failing(LEADER_CHANGED, gone)
    await store.revoke_lease(7)
    fake.unary[LEASE_REVOKE] = fake.failing(gone)
    with pytest.raises(LeaseLostError):
        await store.revoke_lease(7)


async def test_a_lease_that_is_not_renewed_in_time_is_lost_for_good(fake: FakeEtcd, make_store: StoreMaker) -> None:
    store = make_store(fake.endpoint, lease_margin_ms=500, **(QUICK | {"request_timeout_ms": 5_000}))
    hangs = False

    async def grant(request: messages.LeaseGrantRequest, context: Context) -> messages.LeaseGrantResponse:
        return messages.LeaseGrantResponse(ID=request.ID, TTL=request.TTL)

    async def renew(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        async for request in requests:
            if hangs:
                await asyncio.Event().wait()
            yield messages.LeaseKeepAliveResponse(ID=request.ID, TTL=1)

    fake.unary[LEASE_GRANT], fake.streams[LEASE_KEEP_ALIVE] = grant, renew
    lease = await store.grant_lease(1_000)
    await store.keep_alive(lease.lease_id)
    hangs = True
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    with pytest.raises(LeaseLostError):
        await store.keep_alive(lease.lease_id)
    assert loop.time() - started_s < 0.9, "before etcd could have ended it"
    hangs = False
    calls = fake.calls[LEASE_KEEP_ALIVE]
    with pytest.raises(LeaseLostError):
        await store.keep_alive(lease.lease_id)
    assert fake.calls[LEASE_KEEP_ALIVE] == calls, "nobody asks for a lease that was declared lost"


async def test_no_more_leases_than_the_limit(fake: FakeEtcd, make_store: StoreMaker) -> None:
    async def grant(request: messages.LeaseGrantRequest, context: Context) -> messages.LeaseGrantResponse:
        return messages.LeaseGrantResponse(ID=request.ID, TTL=request.TTL)

    fake.unary[LEASE_GRANT] = grant
    store = make_store(fake.endpoint, leases_max=1, **QUICK)
    await store.grant_lease(60_000)
    with pytest.raises(CoordinationUnavailableError):
        await store.grant_lease(60_000)


# --- watches ---


def put_event(revision: int, size: int = 0) -> messages.Event:
    item = messages.KeyValue(key=b"/a", value=bytes(size), create_revision=2, mod_revision=revision, version=1)
    return messages.Event(kv=item)


async def test_a_silent_watch_is_asked_and_then_resumed_elsewhere(make_store: StoreMaker) -> None:
    asked: list[str] = []
    starts: list[int] = []

    async def silent(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        async for request in requests:
            asked.append(request.WhichOneof("request_union"))
            if len(asked) == 1:
                starts.append(request.create_request.start_revision)
                yield messages.WatchResponse(created=True)
                yield messages.WatchResponse(events=[put_event(2), put_event(3)])

    async with FakeEtcd() as first, FakeEtcd() as second:
        for fake in (first, second):
            fake.streams[WATCH] = silent
        store = make_store(
            first.endpoint, second.endpoint, watch_probe_after_ms=50, watch_answer_timeout_ms=300, **QUICK
        )
        watch = store.watch("/", 2)
        assert [(await watch.__anext__()).revision for _ in range(2)] == [2, 3]
        reading = asyncio.ensure_future(watch.__anext__())
        await until_called(first, WATCH)
        await until_called(second, WATCH)
        async with asyncio.timeout(PATIENCE_S):
            while "progress_request" not in asked:
                await asyncio.sleep(0.005)
        await watch.aclose()
        with pytest.raises(StopAsyncIteration):
            await reading
        assert starts[0] == 1


async def test_a_reader_that_does_not_read_stops_etcd(fake: FakeEtcd, make_store: StoreMaker) -> None:
    sent = 0

    async def flood(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        nonlocal sent
        yield messages.WatchResponse(created=True)
        for revision in range(2, 5_000):
            sent += 1
            yield messages.WatchResponse(events=[put_event(revision, 64 * 1024)])

    fake.streams[WATCH] = flood
    store = make_store(fake.endpoint, watch_batches_max=10, **QUICK)
    watch = store.watch("/", 2)
    assert (await watch.__anext__()).revision == 2
    stood_still = 0
    async with asyncio.timeout(PATIENCE_S):
        while stood_still < 10:
            before = sent
            await asyncio.sleep(0.02)
            stood_still = stood_still + 1 if sent == before else 0
    assert sent < 1_000
    assert [(await watch.__anext__()).revision for _ in range(100)] == list(range(3, 103)), "and goes on where it was"
    await watch.aclose()


async def test_a_watch_that_is_refused_twice_says_so(fake: FakeEtcd, make_store: StoreMaker) -> None:
    async def log_in(request: Any, context: Context) -> messages.AuthenticateResponse:
        return messages.AuthenticateResponse(token="x")

    async def refuse(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        yield messages.WatchResponse(created=True, canceled=True, cancel_reason="etcdserver: permission denied")

    fake.unary[AUTHENTICATE], fake.streams[WATCH] = log_in, refuse
    store = make_store(fake.endpoint, user=EtcdUser("me", "secret"), **QUICK)
    watch = store.watch("/", 2)
    with pytest.raises(AccessDeniedError):
        await watch.__anext__()
    assert fake.calls[AUTHENTICATE] == 2
    assert fake.calls[WATCH] >= 2, "a broken connection may cost another"


async def test_a_watch_that_finds_nobody_tells_its_reader(make_store: StoreMaker) -> None:
    async with FakeEtcd() as gone:
        endpoint = gone.endpoint
    store = make_store(endpoint, watch_resume_timeout_ms=300, **QUICK)
    with pytest.raises(CoordinationUnavailableError):
        await asyncio.wait_for(store.watch("/", 2).__anext__(), PATIENCE_S)
