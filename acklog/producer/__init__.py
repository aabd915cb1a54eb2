"""Sending many messages: gathered into batches, retried without duplicates, in order per key, in bounded memory."""

from acklog.producer.async_producer import AsyncProducer
from acklog.producer.delivery import AsyncDelivery, Delivery
from acklog.producer.producer import Producer
from acklog.producer.producer_settings import ProducerSettings

__all__ = ["AsyncDelivery", "AsyncProducer", "Delivery", "Producer", "ProducerSettings"]
