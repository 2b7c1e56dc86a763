"""Where the pages are, and what they are looked at with."""

import os

from selenium.webdriver.support.ui import WebDriverWait

from conftest import ROOT, gnomon  # noqa: F401
from test_axe import complaints  # noqa: F401
from test_report import LETTERS, OVERLAPS, open_page, requests, show_as  # noqa: F401

PAGES = (ROOT / os.environ.get("GNOMON_PAGES", "build/web")).absolute()


def open_web(name, width=1280):
    return open_page(PAGES / f"{name}.html", width)


def wait_until(driver, condition, seconds=60):
    """Until a condition in JavaScript holds; its value."""
    return WebDriverWait(driver, seconds, 0.05).until(lambda d: d.execute_script(f"return {condition}"))


def fits(driver, width):
    """Nothing is wider than the window."""
    return driver.execute_script("return document.documentElement.scrollWidth") <= width
