"""`python -m acklog.command`."""

from acklog.command.program import main

main()
