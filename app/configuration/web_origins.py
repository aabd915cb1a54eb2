"""Which other web pages may call a server (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol)."""

import re

from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import where_to_set

EVERY_ORIGIN = "*"
WEB_ORIGINS_MAX = 100
_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


def web_origins(setting: str) -> frozenset[str]:
    """The origins that `cors_origins` names, as browsers write them: in lower case, without a path. Raises
    SettingsError."""
    named = [each.strip().lower() for each in setting.split(",") if each.strip()]
    if len(named) > WEB_ORIGINS_MAX:
        raise SettingsError(f"cors_origins names {len(named)} origins, at most {WEB_ORIGINS_MAX} are possible")
    for origin in named:
        if origin != EVERY_ORIGIN and not _ORIGIN.fullmatch(origin):
            raise SettingsError(
                f"cors_origins has {origin[:200]!r}, which is no origin such as https://shop.example or "
                f"http://localhost:3000: a scheme, a host, perhaps a port, no path ({where_to_set('cors_origins')})"
            )
    return frozenset(named)


def check_web_origins(setting: str, *, asks_for_tokens: bool) -> None:
    """Raises SettingsError, also where a server that asks nobody for a token is to be open to every page there is:
    any page that somebody on this machine looks at could read and delete all of it."""
    if EVERY_ORIGIN in web_origins(setting) and not asks_for_tokens:
        raise SettingsError(
            "cors_origins is *, which lets every web page use a server that asks nobody for a token: name the "
            "origins, or give it tokens (--tokens-file or --require-tokens)"
        )
