"""`AcklogError`: what every failure that the SDK raises is, and holds."""

from collections.abc import Mapping
from typing import Any, ClassVar


class AcklogError(Exception):
    """A failure that a caller may expect.

    `code` is stable; programs go by it, or by the class. `detail` is a sentence for a person. `field` names what of the
    request is at fault (`messages[3].key`), `status` is HTTP's (0: there was no answer). `retriable` says that the same
    request may succeed later, after `retry_after_s` where the server said when. `extra` is what else the problem holds.
    """

    default_code: ClassVar[str] = ""
    default_status: ClassVar[int] = 0
    default_retriable: ClassVar[bool] = False

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        field: str | None = None,
        status: int | None = None,
        retriable: bool | None = None,
        retry_after_s: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = self.default_code if code is None else code
        self.detail = detail
        self.field = field
        self.status = self.default_status if status is None else status
        self.retriable = self.default_retriable if retriable is None else retriable
        self.retry_after_s = retry_after_s
        self.extra: dict[str, Any] = dict(extra or {})

    def __str__(self) -> str:
        place = f" ({self.field})" if self.field else ""
        return f"{self.code}: {self.detail}{place}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.detail, {**self.__dict__})

    @property
    def near(self) -> list[str]:
        """Names like the one that was not found."""
        return self._names("near")

    @property
    def differing(self) -> list[str]:
        """The settings that an existing topic or group has otherwise than they were asked for."""
        return self._names("differing")

    def _names(self, member: str) -> list[str]:
        names = self.extra.get(member)
        return [str(name) for name in names] if isinstance(names, list) else []


def _restored(kind: type[AcklogError], detail: str, attributes: dict[str, Any]) -> AcklogError:
    """What pickle and copy make of an error: `Exception` itself would call the class with the detail only."""
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    error.__dict__.update(attributes)
    return error
