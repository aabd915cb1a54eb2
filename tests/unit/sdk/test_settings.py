from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from acklog.consumer.consumer_settings import ConsumerOptions, ConsumerSettings
from acklog.errors import InvalidArgument
from acklog.producer.producer_settings import ProducerOptions, ProducerSettings
from acklog.wire.limits import DEDUP_WINDOW_MS_DEFAULT


@pytest.mark.parametrize(
    ("settings", "options"), [(ProducerSettings, ProducerOptions), (ConsumerSettings, ConsumerOptions)]
)
def test_options_are_the_settings_by_name(settings: type[Any], options: type[Any]) -> None:
    assert get_type_hints(options) == {each.name: get_type_hints(settings)[each.name] for each in fields(settings)}


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        (ProducerSettings, "buffer_bytes_max", 0),
        (ProducerSettings, "batch_messages_max", 10_001),
        (ProducerSettings, "batch_bytes_max", 16 * 1024 * 1024),
        (ProducerSettings, "requests_in_flight_max", 0),
        (ProducerSettings, "delivery_timeout_ms", 240_001),
        (ProducerSettings, "linger_ms", -1),
        (ProducerSettings, "backoff_max_ms", 1),
        (ProducerSettings, "compression", "zstd"),
        (ConsumerSettings, "visibility_s", 0),
        (ConsumerSettings, "hold_s_max", 1),
        (ConsumerSettings, "wait_s", 21),
        (ConsumerSettings, "settle_messages_max", 10_001),
        (ConsumerSettings, "prefetch_messages_max", 0),
    ],
)
def test_a_setting_beyond_its_limit_is_refused_by_name(settings: type[Any], name: str, value: Any) -> None:
    with pytest.raises(InvalidArgument, match=name) as caught:
        settings(**{name: value})
    assert caught.value.field == name


def test_retries_end_before_the_server_forgets_the_key() -> None:
    settings = ProducerSettings()
    assert settings.delivery_timeout_ms + settings.request_timeout_ms < DEDUP_WINDOW_MS_DEFAULT / 2
    assert ProducerSettings(delivery_timeout_ms=240_000).delivery_timeout_ms < DEDUP_WINDOW_MS_DEFAULT
