"""What the tests of the package share: none runs in the tree."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from own_folder import own_folder  # noqa: E402, F401  the fixture
