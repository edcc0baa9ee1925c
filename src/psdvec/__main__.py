"""``python -m psdvec``: the command line."""

from psdvec.cli import main

main()
