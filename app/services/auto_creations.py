"""How many topics or groups come into being because somebody named them."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.tokens import TOKENS_MAX
from cluster.errors import ServerError


@dataclass(frozen=True, slots=True)
class AutoCreationLimits:
    """`total_max`: how many there may be in all, by hand or not, for one more to be made; `per_token_max`: of those
    that one token has made since the start and that are still there."""

    total_max: int
    per_token_max: int


class AutoCreations:
    """Of topics or of groups. `count` says how many there are, `exists` whether there is one of that name. What each
    token has made is forgotten at a restart; how many there are is not."""

    def __init__(
        self,
        limits: AutoCreationLimits,
        code: ProblemCode,
        *,
        count: Callable[[], int],
        exists: Callable[[str], bool],
    ) -> None:
        self._limits = limits
        self._code = code
        self._count = count
        self._exists = exists
        self._under_way: Counter[str] = Counter()
        self._made: dict[str, dict[str, None]] = {}

    @contextmanager
    def one_more(self, name: str, principal: Principal) -> Iterator[None]:
        """While it is being made. Raises ServerError TOO_MANY_TOPICS or TOO_MANY_GROUPS."""
        if name not in self._under_way and self._count() + len(self._under_way) >= self._limits.total_max:
            detail = f"with {self._limits.total_max} of them no more are made by being named: make it by hand"
            raise ServerError(self._code, detail)
        made = self._made_by(principal)
        if name not in made and len(made) >= self._limits.per_token_max:
            detail = f"the token has made {self._limits.per_token_max} by naming them: make it by hand"
            raise ServerError(self._code, detail)
        self._under_way[name] += 1
        made[name] = None
        try:
            yield
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]

    def _made_by(self, principal: Principal) -> dict[str, None]:
        """At most `per_token_max` names, and as many tokens as a file may have: a reload brings others, and what those
        of long ago have made is forgotten."""
        if principal is ANYONE:
            return {}
        if principal.name not in self._made and len(self._made) >= TOKENS_MAX:
            del self._made[next(iter(self._made))]
        made = self._made.setdefault(principal.name, {})
        if len(made) >= self._limits.per_token_max:
            for name in [each for each in made if each not in self._under_way and not self._exists(each)]:
                del made[name]
        return made
