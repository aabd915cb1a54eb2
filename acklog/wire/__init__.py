"""Formats that clients and servers share: batches, records, identifiers, partitioning, names, limits, problems."""
