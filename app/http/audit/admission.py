"""Whether somebody may do what is asked for, as far as names tell."""

from app.auth.principal import Principal
from app.http.description.needed_rights import Needed, On
from cluster.model.action import Action


def holds_needed(principal: Principal, needed: Needed, names: dict[str, str]) -> bool:
    """Whether the principal may do it as far as the names tell. Who may not is refused by the service, and cannot fill
    the log with intentions."""
    return all(any(_may(principal, action, need.on, names) for action in need.actions) for need in needed.needs)


def _may(principal: Principal, action: Action, on: On, names: dict[str, str]) -> bool:
    if on is On.TOPIC and "topic" in names:
        return principal.may_on_topic(action, names["topic"])
    if on is On.GROUP and "group" in names:
        return principal.may_on_group(action, names["group"])
    return principal.may_on_cluster(action) if on is On.CLUSTER else principal.may_somewhere(action)
