"""A TLS handshake between two contexts of this process, by memory alone."""

import ssl

STEPS_MAX = 20


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """The client's end, once both have shaken hands and a byte went each way. Raises ssl.SSLError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    undone = list(ends)
    for _ in range(STEPS_MAX):
        undone = [end for end in undone if not _is_done(end)]
        if not undone:
            break
    assert not undone, "the handshake does not come to its end"
    for sender, receiver in (ends, ends[::-1]):  # by TLS 1.3 a client's certificate is judged after its handshake
        sender.write(b"x")
        assert receiver.read(1) == b"x"
    return ends[0]


def _is_done(end: ssl.SSLObject) -> bool:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
