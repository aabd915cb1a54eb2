"""The web backend: `uvicorn outbox.backend:app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, PositiveInt
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from .tables import Event, Order, create_tables, engine


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    create_tables()
    yield


app = FastAPI(lifespan=lifespan)


class NewOrder(BaseModel):
    id: str
    customer: str
    cents: PositiveInt


@app.post("/orders", status_code=201)
def place_order(order: NewOrder) -> NewOrder:
    """The order and its event are committed together, or neither is. Acklog need not even run."""
    event = Event(topic="orders", key=order.customer, body={"type": "order-placed", **order.model_dump()})
    with Session(engine) as session:
        session.add_all([Order(**order.model_dump()), event])
        try:
            session.commit()
        except IntegrityError:
            raise HTTPException(409, f"there is an order {order.id} already") from None
    return order
