"""The clients: requests and answers without I/O (`*_calls`), what carries them (`transport`), and both clients."""
