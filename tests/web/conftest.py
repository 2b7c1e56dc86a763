"""What the tests of the pages share: none runs in the tree."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from conftest import own_folder  # noqa: E402, F401  the fixture
