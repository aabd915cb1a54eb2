"""Sending many messages: gathered into batches, retried without duplicates, in order per key, in bounded memory."""
