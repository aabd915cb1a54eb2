"""Streams of server-sent events: a topic's tail, and what changes in the cluster. They go on by themselves."""
