"""`acklog demo`: flights through a server that is killed on the way, and a check of every promise."""
