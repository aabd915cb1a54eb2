"""Copies topics of one cluster to another, continuously. What is decided here is pure; `ends` says what it asks for."""
