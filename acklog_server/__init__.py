"""The server as a distribution: its packages, kept where no other package of their names can hide them."""
