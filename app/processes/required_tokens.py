"""Whether a server asks for tokens, which is settled when it starts, and those of its file."""

from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings


def asks_for_tokens(settings: Settings) -> bool:
    """By its settings alone. What is stored has no say in it: nobody opens a server by revoking its last token."""
    return settings.require_tokens or settings.tokens_file != ""


def tokens_of(settings: Settings) -> TokenTable | None:
    """None: it asks nobody. Raises TokensFileError."""
    if settings.tokens_file:
        return TokenTable.load(settings.tokens_file)
    return TokenTable() if settings.require_tokens else None
