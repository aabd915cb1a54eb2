"""A whole cluster on one machine, as processes of their own. It knows the server only by its command line."""
