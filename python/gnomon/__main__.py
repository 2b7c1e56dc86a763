"""`python -m gnomon` and `gnomon`: the command line program."""

import os
import sys

from .program import PATH


def main():
    """Replaces this process by the program."""
    os.execv(PATH, ["gnomon", *sys.argv[1:]])


if __name__ == "__main__":
    main()
