"""Effects in a database that happen once, however often a message comes. docs/recipes/exactly-once.md explains it."""
