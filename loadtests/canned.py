"""What the bare servers answer: as many bytes as Acklog, without the work."""

STORED = b'{"messageId":"m-0123456789abc-3-1-123456","partition":3,"offset":123456}\n'
JSON = "application/json"
ANSWER_BYTES_MAX = 16 * 1024 * 1024


def answer_head(status: int, length: int) -> bytes:
    """Everything before the body."""
    return f"HTTP/1.1 {status} OK\r\nserver: bare\r\ncontent-type: {JSON}\r\ncontent-length: {length}\r\n\r\n".encode()
