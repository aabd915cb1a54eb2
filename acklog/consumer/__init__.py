"""Working on messages: received ahead, kept leased while work runs, acked or nacked by how it ends."""

from acklog.consumer.async_consumer import AsyncConsumer
from acklog.consumer.consumer import Consumer
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.message_batch import MessageBatch
from acklog.consumer.settlements import SettlementProblem
from acklog.consumer.source import MemberOptions

__all__ = ["AsyncConsumer", "Consumer", "ConsumerSettings", "MemberOptions", "MessageBatch", "SettlementProblem"]
