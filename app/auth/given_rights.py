"""What entries of the tokens file have in common, whoever they are for: rights, and quotas."""

from typing import Annotated

import msgspec

from acklog.wire.limits import QUOTA_PER_SECOND_MAX, RIGHTS_MAX, ROLE_NAME_LENGTH_MAX, ROLES_PER_TOKEN_MAX
from app.auth.principal import TokenQuotas
from app.auth.right import EVERY
from cluster.model.right_entry import RightEntry

PerSecond = Annotated[int, msgspec.Meta(ge=1, le=QUOTA_PER_SECOND_MAX)]
RoleName = Annotated[str, msgspec.Meta(min_length=1, max_length=ROLE_NAME_LENGTH_MAX)]
RightEntries = Annotated[list[RightEntry], msgspec.Meta(min_length=1, max_length=RIGHTS_MAX)]


class GivenRights(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`topics` and `groups` are what roles, and rights that name nothing themselves, are for."""

    topics: tuple[str, ...] = EVERY
    groups: tuple[str, ...] | None = None
    rights: RightEntries | None = None
    roles: Annotated[list[RoleName], msgspec.Meta(min_length=1, max_length=ROLES_PER_TOKEN_MAX)] | None = None
    requests_per_second: PerSecond | None = msgspec.field(name="requestsPerSecond", default=None)
    messages_per_second: PerSecond | None = msgspec.field(name="messagesPerSecond", default=None)
    bytes_per_second: PerSecond | None = msgspec.field(name="bytesPerSecond", default=None)

    def quotas(self) -> TokenQuotas | None:
        quotas = TokenQuotas(
            requests_per_second=self.requests_per_second,
            messages_per_second=self.messages_per_second,
            bytes_per_second=self.bytes_per_second,
        )
        return None if quotas == TokenQuotas() else quotas
