"""Which other web pages a server names."""

import pytest

from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.configuration.web_origins import WEB_ORIGINS_MAX, web_origins


def test_none_is_the_default() -> None:
    assert web_origins(Settings().cors_origins) == frozenset()


def test_they_are_as_browsers_write_them() -> None:
    named = web_origins(" https://Shop.example , http://localhost:3000,https://[::1]:8443,")
    assert named == {"https://shop.example", "http://localhost:3000", "https://[::1]:8443"}


@pytest.mark.parametrize(
    "wrong",
    [
        "shop.example",
        "https://shop.example/",
        "https://shop.example/page",
        "ftp://shop.example",
        "https://*.example",
        "null",
        "https://",
        "https://user@shop.example",
        "https://shop.example:x",
    ],
)
def test_what_is_no_origin_is_told(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"cors_origins has .* no origin.*--cors-origins"):
        Settings(cors_origins=f"https://good.example,{wrong}")


def test_how_many() -> None:
    named = [f"https://shop-{number}.example" for number in range(WEB_ORIGINS_MAX + 1)]
    assert len(web_origins(",".join(named[:-1]))) == WEB_ORIGINS_MAX
    with pytest.raises(SettingsError, match=f"at most {WEB_ORIGINS_MAX}"):
        Settings(cors_origins=",".join(named))


def test_every_page_only_where_tokens_are_asked_for() -> None:
    with pytest.raises(SettingsError, match="every web page"):
        Settings(cors_origins="*")
    Settings(cors_origins="*", require_tokens=True)
    Settings(cors_origins="*", tokens_file="tokens.toml")
