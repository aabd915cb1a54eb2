"""The backend's tables: its orders, and the outbox with the events that are still to be sent."""

import os
from typing import Any
from uuid import uuid4

from sqlalchemy import JSON, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.schema import CreateTable

engine = create_engine(os.environ.get("DATABASE_URL", "sqlite:///shop.db"))


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(primary_key=True)
    customer: Mapped[str]
    cents: Mapped[int]


class Event(Base):
    """An event stands here from the commit of what it tells of until Acklog has it on disk."""

    __tablename__ = "outbox"

    id: Mapped[int] = mapped_column(primary_key=True)
    # The event's name for ever: SQLite gives an id again once its row is deleted.
    dedup_id: Mapped[str] = mapped_column(unique=True, default=lambda: uuid4().hex)
    topic: Mapped[str]
    key: Mapped[str]
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    refusal: Mapped[str | None]  # why it can never be sent; such a row waits for a person


def create_tables() -> None:
    """Backend and relay may start at the same moment. `create_all` looks first and then creates, so one would fail."""
    with engine.begin() as connection:
        for table in Base.metadata.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
