"""A pipeline that reads in order, sends on, and counts, each flight once. docs/groups.md explains it."""
