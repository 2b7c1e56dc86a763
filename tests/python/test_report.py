"""The pages in a browser: no console error, no request, nothing that overlaps, readable without JavaScript."""

import json

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from conftest import gnomon

OVERLAPS = """
const out = [];
for (const svg of document.querySelectorAll('figure svg')) {
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.getBoundingClientRect(), t.textContent]);
  const frame = svg.getBoundingClientRect();
  boxes.forEach(([a, s], i) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.bottom > frame.bottom + 1) out.push('outside: ' + s);
    for (const [b, t] of boxes.slice(i + 1))
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2) out.push(s + ' | ' + t);
  });
}
return out;
"""


def open_page(path, width=1280, javascript=True):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    if not javascript:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.get(f"file://{path}")
    return driver


def requests(driver):
    events = [json.loads(e["message"])["message"] for e in driver.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [u for u in urls if not u.startswith(("file:", "data:"))]


@pytest.fixture(scope="module")
def pages(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    shown = {}
    for name, spec in (("sinusoidal", "sinusoidal"), ("rope", "rope(fraction=0.5)+alibi"), ("t5", "t5"), ("learned", "learned")):
        shown[name] = folder / f"{name}.html"
        gnomon("show", spec, "--out", shown[name], check=0)
    shown["both sides"] = folder / "both.html"
    gnomon("show", "t5", "--bidirectional", "--out", shown["both sides"], check=0)
    return {"report": study[0] / "report.html", **shown}


@pytest.mark.parametrize("name", ["report", "sinusoidal", "rope", "t5", "learned", "both sides"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_is_whole(pages, name, width):
    driver = open_page(pages[name], width)
    try:
        assert driver.get_log("browser") == []
        assert requests(driver) == []
        assert driver.execute_script(OVERLAPS) == []
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert driver.execute_script("return [...document.images].every(i => i.complete && i.naturalWidth > 0)")
        assert driver.execute_script("return document.querySelectorAll('figure').length") >= 1
    finally:
        driver.quit()


def test_the_tables_sort_and_the_data_are_there(pages):
    driver = open_page(pages["report"])
    try:
        cell = "return document.querySelector('table.data tbody tr td').textContent"
        head = driver.find_elements("css selector", "table.data th")[0]
        head.click()
        first = driver.execute_script(cell)
        head.click()
        assert driver.execute_script(cell) != first
        data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
        assert len(data["arms"]) == 9
        for section in ("Ranking", "Budgets", "Learning rates", "Longer windows than in training", "While training",
                        "Within the window", "The encodings", "How this was made"):
            assert section in driver.page_source
        assert "not defined" in driver.page_source
    finally:
        driver.quit()


def test_it_reads_without_javascript(pages):
    driver = open_page(pages["report"], javascript=False)
    try:
        assert "sinusoidal" in driver.find_element("css selector", "table.data").text
        assert len(driver.find_elements("css selector", "figure svg")) > 10
    finally:
        driver.quit()


def test_text_from_outside_is_escaped(text, tmp_path):
    from conftest import study_arguments
    hostile = tmp_path / "<img src=x onerror=alert(1)>.txt"
    hostile.write_bytes(text.read_bytes())
    gnomon(*study_arguments(hostile, tmp_path / "out", "study.arms=none, sinusoidal", "study.seeds=1"), check=0)
    assert "<img" not in (tmp_path / "out" / "report.html").read_text()
