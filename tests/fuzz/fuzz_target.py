"""A parser that strangers or disks feed, and what it promises whatever it is given."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FuzzTarget:
    """`read` takes an input as what it should be, and compares with a naive way where there is one. It may raise what
    `refuses` names, and nothing else; a difference is an AssertionError.

    `seeds` makes inputs with the product's own encoders. At least one of them has to be read without a refusal: a
    corpus of an earlier format would only try the first check.
    """

    read: Callable[[bytes], None]
    refuses: tuple[type[Exception], ...]
    seeds: Callable[[], Iterable[bytes]]
