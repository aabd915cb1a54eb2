"""What the URLs and ARNs of SQS's queues are made of."""

import re

from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import where_to_set

_ACCOUNT = re.compile(r"[0-9]{12}")
_REGION = re.compile(r"[a-z0-9-]{1,32}")
_PUBLIC_URL = re.compile(
    r"https?://(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]{0,200})?"
)


def check_sqs(*, account: str, region: str, public_url: str) -> None:
    """Raises SettingsError."""
    if not _ACCOUNT.fullmatch(account):
        raise SettingsError(f"sqs_account is {account[:50]!r}, it must have 12 digits ({where_to_set('sqs_account')})")
    if not _REGION.fullmatch(region):
        detail = "it may have 1 to 32 small letters, digits and hyphens"
        raise SettingsError(f"sqs_region is {region[:50]!r}, {detail} ({where_to_set('sqs_region')})")
    if public_url and not _PUBLIC_URL.fullmatch(public_url):
        detail = "it must be a URL such as https://queue.example.com: a scheme, a host, perhaps a port and a path"
        raise SettingsError(f"public_url is {public_url[:200]!r}, {detail} ({where_to_set('public_url')})")
