"""What autoscalers read of a group, as an example: the figures fit the formula of `app.services.workload`."""

from app.http.description.example_answers import Document

DEMAND: Document = {
    "group": "billing",
    "mode": "shared",
    "lag": 1_200,
    "waiting": 1_160,
    "inFlight": 40,
    "delayed": 0,
    "blocked": 0,
    "oldestAgeSeconds": 42.5,
    "arrivalsPerSecond": 90.0,
    "settledPerSecond": 60.0,
    "consumers": 3,
    "suggestedConsumers": 2,
    "unknownPartitions": 0,
}
