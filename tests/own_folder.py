"""What the conftest.py of each folder of tests imports: a test runs in a folder of its own, and not in the tree, where studies and
claims of whoever works here may stand."""

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
