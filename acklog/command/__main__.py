"""`python -m acklog.command`."""

from acklog.start import main

main()
