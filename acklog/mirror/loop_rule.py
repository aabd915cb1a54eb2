"""Which topics would go round in a circle. Without I/O. (Which messages do, `plan_copies` sees by their paths.)"""

from collections.abc import Mapping

from acklog.catalog import Topic


def is_same_cluster(source: Mapping[str, Topic], target: Mapping[str, Topic]) -> bool:
    """By name, all topics of both. No two clusters share the id of a topic."""
    return bool({topic.id for topic in source.values()} & {topic.id for topic in target.values()})


def is_copy_of_target(topic: str, copies: Mapping[str, str], target_names: Mapping[str, str]) -> bool:
    """Whether all that the source's `topic` has from mirrors is of the target. `copies` says of which topic's id each
    topic of the source is a copy, `target_names` what the target's topics are called, by id."""
    return copies.get(topic) in target_names


def copy_fault(topic: str, target: str, copies: Mapping[str, str], target_names: Mapping[str, str]) -> str:
    """Why the topic must not be copied to `target`: that one is copied to it. "" where that is not so."""
    if target_names.get(copies.get(topic, "")) != target:
        return ""
    return f"{target} of the target is copied to it by another mirror: give one of them a prefix"
