"""The media types of bodies."""

JSON = "application/json"
NDJSON = "application/x-ndjson"
OCTETS = "application/octet-stream"
