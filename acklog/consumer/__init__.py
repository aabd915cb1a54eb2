"""Working on messages: received ahead, kept leased while work runs, acked or nacked by how it ends."""
