"""A view in PostgreSQL that shows each message once. docs/recipes/exactly-once-postgres.md explains it."""
