"""Rights in one line each."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acklog.tokens import KnownToken, TokenRight


def right_text(right: "TokenRight") -> str:
    """`allow send, look on topics orders.*`."""
    effect, actions = ("deny", right.deny) if right.deny else ("allow", right.allow or [])
    resources = [
        f"{kind} {', '.join(names)}" for kind, names in (("topics", right.topics), ("groups", right.groups)) if names
    ]
    if right.cluster:
        resources.append("the cluster")
    where = " and ".join(resources) or "the token's topics and groups"
    return f"{effect} {', '.join(actions)} on {where}"


def token_rights_text(token: "KnownToken") -> str:
    """Its roles, and how many rights it has beside them."""
    parts = list(token.roles)
    if token.rights:
        parts.append(f"{len(token.rights)} rights" if len(token.rights) > 1 else right_text(token.rights[0]))
    return ", ".join(parts)
