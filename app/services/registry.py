"""The services of one gateway, put together once."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from acklog.wire.identifiers import id_from_bits
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.gateway.routing import PartitionLeaders
from app.services.appends import LocalAppends, NumberedAppends
from app.services.audit_journal import AuditJournal
from app.services.audit_reader import AuditReader
from app.services.audit_refusals import AuditRefusals
from app.services.audit_settings import AuditSettings
from app.services.audit_topic import AuditTopic
from app.services.blocked import BlockedService
from app.services.catalog import Catalog
from app.services.cluster import ClusterService
from app.services.commits import CommitService
from app.services.compactions import CompactionService
from app.services.copies import CopyService
from app.services.deletions import DeletionService
from app.services.demand import DemandService
from app.services.encryption import EncryptionService
from app.services.events import EventService
from app.services.groups import GroupService
from app.services.inspect import InspectService
from app.services.log_ends import LogEnds
from app.services.members import MemberService
from app.services.membership import GroupMembership
from app.services.namespaces import NamespaceService
from app.services.pauses import PauseService
from app.services.producers import ProducerService
from app.services.quotas import QuotaService
from app.services.receive import ReceiveService
from app.services.records import RecordsService
from app.services.recurring import RecurringService
from app.services.redrives import RedriveService
from app.services.scheduled import ScheduledService
from app.services.seeks import SeekService
from app.services.send import SendService
from app.services.settle import SettleService
from app.services.tables import TableService
from app.services.tails import TAIL_WAITS_MAX, TailService
from app.services.tokens import TokenService
from app.services.topics import TopicService
from app.services.traced_receive import TracedReceiveService
from app.services.traced_send import TracedSendService
from app.services.traced_settle import TracedSettleService
from app.services.unclean_election import UncleanElections
from app.services.waiting import WaitingRequests
from cluster.ports.tracing import Tracer
from storage.quota_use.quota_book import QuotaBook


class _ServicesOfMessages(NamedTuple):
    send: Callable[..., SendService]
    settle: Callable[..., SettleService]
    receive: Callable[..., ReceiveService]


def _services_of_messages(tracer: Tracer | None) -> _ServicesOfMessages:
    if tracer is None:
        return _ServicesOfMessages(SendService, SettleService, ReceiveService)
    return _ServicesOfMessages(
        partial(TracedSendService, tracer=tracer),
        partial(TracedSettleService, tracer=tracer),
        partial(TracedReceiveService, tracer=tracer),
    )


def _quota_book(gateway: Gateway, metrics: Metrics) -> QuotaBook:
    return QuotaBook(
        id_from_bits(gateway.entropy.bits64()),
        gateway.metadata,
        gateway.nodes.client,
        metrics,
        clock=gateway.clock,
        has_ended=lambda: gateway.shutdown.has_begun,
    )


class Services:
    """What the routers call. The services know nothing of HTTP: the same ones serve any other front end."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.settings = gateway.settings
        self.metrics = Metrics(names_max=gateway.settings.metric_names_max, named=gateway.metadata)
        self.metrics.connections_max.set(gateway.settings.connections_max)
        for collector in gateway.collectors:
            self.metrics.registry.register(collector)
        self.waiting = WaitingRequests(
            gateway.settings.waiting_requests_max, share_percent=gateway.settings.waiting_requests_share_percent
        )
        catalog = self.catalog = Catalog(gateway)
        leaders = PartitionLeaders(gateway)
        numbers = gateway.batch_numbers
        appends = LocalAppends(leaders) if numbers is None else NumberedAppends(leaders, numbers)
        self.producers = ProducerService(gateway, catalog, leaders)
        quotas = QuotaService(gateway, _quota_book(gateway, self.metrics), self.waiting, self.metrics.namespaces)
        send, settle, receive = _services_of_messages(gateway.tracer)
        self.send = send(gateway, catalog, leaders, appends, self.producers, quotas, self.metrics)
        self.settle = settle(gateway, catalog, leaders, self.metrics)
        self.membership = GroupMembership(gateway, catalog, leaders)
        self.receive = receive(
            gateway, catalog, leaders, self.settle, self.waiting, self.metrics, self.membership, quotas
        )
        self.look = InspectService(gateway, catalog, leaders, quotas)
        self.scheduled = ScheduledService(gateway, catalog, leaders)
        self.recurring = RecurringService(gateway, catalog, quotas)
        ends = LogEnds(leaders, partitions_max=gateway.settings.shown_ends_max)
        self.records = RecordsService(gateway, catalog, leaders, ends, self.waiting, quotas)
        tail_waits = WaitingRequests(TAIL_WAITS_MAX, share_percent=100)
        tail_records = RecordsService(gateway, catalog, leaders, ends, tail_waits, quotas)
        self.tails = TailService(gateway, catalog, leaders, ends, tail_records, self.metrics.streams)
        self.events = EventService(gateway, ends, self.metrics)
        self.topics = TopicService(gateway, catalog, leaders, ends)
        self.copies = CopyService(gateway, catalog, leaders, self.topics)
        self.tables = TableService(gateway, catalog, leaders, quotas)
        self.compactions = CompactionService(gateway, catalog)
        self.encryption = EncryptionService(gateway, catalog)
        self.deletions = DeletionService(gateway, catalog, leaders)
        self.members = MemberService(catalog, self.membership, self.waiting)
        self.groups = GroupService(gateway, catalog, leaders, ends, self.members)
        self.demand = DemandService(gateway, catalog, self.groups, self.membership)
        self.pauses = PauseService(gateway, catalog)
        self.blocked = BlockedService(gateway, catalog, leaders)
        self.redrives = RedriveService(gateway, catalog, leaders, ends)
        self.seeks = SeekService(gateway, catalog, leaders, self.groups)
        self.commits = CommitService(gateway, catalog, leaders, self.membership, self.metrics)
        self.cluster = ClusterService(gateway, catalog)
        self.tokens = TokenService(gateway)
        self.namespaces = NamespaceService(gateway)
        audit_topic = AuditTopic(gateway, catalog, leaders, appends)
        self.audit_journal = AuditJournal(gateway, audit_topic, self.metrics.audit)
        self.audit_refusals = AuditRefusals(gateway, self.audit_journal, self.metrics.audit)
        self.audit_reader = AuditReader(catalog, self.records)
        self.audit_settings = AuditSettings(gateway, self.audit_journal)
        gateway.shutdown.at_end(self.audit_refusals.close)
        gateway.shutdown.at_end(self.audit_journal.close)
        self.unclean_elections = UncleanElections(gateway, catalog)
