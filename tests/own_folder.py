"""What the conftest.py of each folder of tests imports: a test runs in a folder of its own, and not in the tree, where studies and
claims of whoever works here may stand."""

import signal

import pytest

# A shell has its background jobs ignore an interruption, and whoever they start inherits that: tests that interrupt would wait.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
