"""`python -m heteroselect` is the command line."""

from heteroselect.cli import main

main()
