"""The relay sends what is in the outbox: `python -m outbox.relay`. It may be killed at any moment."""

import logging
import time

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from acklog import AcklogError, Client, OutgoingMessage, Sent

from .tables import Event, create_tables, engine

EVENTS_AT_ONCE = 500
PAUSE_S = 0.2


def relay(client: Client) -> int:
    """Send the oldest events, then delete those that are on disk; how many. Raises AcklogError."""
    with Session(engine, expire_on_commit=False) as session:
        waiting = select(Event).where(Event.refusal.is_(None)).order_by(Event.id).limit(EVENTS_AT_ONCE)
        events = session.scalars(waiting).all()
        session.commit()  # no transaction is open while the network is waited for
        stored: list[str] = []
        for topic in dict.fromkeys(event.topic for event in events):
            share = [event for event in events if event.topic == topic]
            messages = [
                OutgoingMessage(each.body, key=each.key, headers={"event": each.dedup_id}, dedup_id=each.dedup_id)
                for each in share
            ]
            for event, result in zip(share, client.send_many(topic, messages), strict=True):
                if isinstance(result, Sent):
                    stored.append(event.dedup_id)
                elif not result.retriable:
                    event.refusal = str(result)
        session.execute(delete(Event).where(Event.dedup_id.in_(stored)))
        session.commit()
    return len(stored)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    create_tables()
    with Client() as client:
        while True:
            try:
                sent = relay(client)
            except AcklogError as error:
                if not error.retriable:
                    raise
                logging.warning("nothing can be sent now, trying again: %s", error)
                sent = 0
            if not sent:
                time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
