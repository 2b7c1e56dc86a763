"""What the tests of the pages share: where the pages are, a browser, and questions to the module in a page."""

import os
import pathlib
import sys

from selenium.webdriver.support.ui import WebDriverWait

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/python"), str(ROOT / "tests")]

from conftest import gnomon  # noqa: E402, F401
from own_folder import own_folder  # noqa: E402, F401  the fixture
from test_axe import complaints  # noqa: E402, F401
from test_report import LETTERS, OVERLAPS, open_page, requests, show_as  # noqa: E402, F401

PAGES = pathlib.Path(os.environ.get("GNOMON_PAGES", ROOT / "build/web")).absolute()


def open_web(name, width=1280, hash=""):
    return open_page(f"{PAGES / name}.html{hash}", width)


def wait_until(driver, condition, seconds=60):
    """Until a condition in JavaScript holds; its value."""
    return WebDriverWait(driver, seconds, 0.05).until(lambda d: d.execute_script(f"return {condition}"))


def fits(driver, width):
    """Nothing is wider than the window."""
    return driver.execute_script("return document.documentElement.scrollWidth") <= width
