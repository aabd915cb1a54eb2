"""What the URLs and ARNs of SQS's queues may be made of."""

import pytest

from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sqs_account", ""),
        ("sqs_account", "12345678901"),
        ("sqs_account", "1234567890123"),
        ("sqs_account", "12345678901x"),
        ("sqs_account", "１２３４５６７８９０１２"),
        ("sqs_region", ""),
        ("sqs_region", "US"),
        ("sqs_region", "a:b"),
        ("sqs_region", "a" * 33),
        ("public_url", "queue.example.com"),
        ("public_url", "ftp://queue.example.com"),
        ("public_url", "https://queue.example.com?a=b"),
        ("public_url", "https://user@queue.example.com"),
        ("public_url", "https://a b"),
    ],
)
def test_what_they_may_not_be(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings(**{name: value})


@pytest.mark.parametrize(
    "url", ["", "http://localhost:8080", "https://queue.example.com/", "https://[::1]:1", "https://a.example/sqs/v1"]
)
def test_where_clients_find_the_server(url: str) -> None:
    settings = Settings(sqs_account="123456789012", sqs_region="eu-central-1", public_url=url)
    assert settings.public_url == url
