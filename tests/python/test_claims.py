"""`gnomon claims`: the list, single claims, a quick run of all on real text, and its page in a browser."""

import json
import signal
import subprocess
import time

import pytest

from conftest import GNOMON, ROOT, gnomon
from test_report import OVERLAPS, open_page, requests


@pytest.fixture(scope="module")
def bible(tmp_path_factory):
    path = tmp_path_factory.mktemp("bible") / "king-james.txt"
    subprocess.run([ROOT / "scripts" / "king-james", path], check=True)
    return path


@pytest.fixture(scope="module")
def quick(bible, tmp_path_factory):
    out = tmp_path_factory.mktemp("claims") / "out"
    start = time.monotonic()
    done = gnomon("claims", "all", "--quick", "--text", bible, "--out", out, "--json", check=0)
    return out, json.loads(done.stdout), time.monotonic() - start


def test_the_list_names_every_claim_by_question():
    listed = gnomon("claims", check=0).stdout
    assert sum(line.startswith("  00") for line in listed.splitlines()) == 75
    assert "Why add, and not concatenate?" in listed
    assert "wrong" in listed
    described = json.loads(gnomon("claims", "--json", check=0).stdout)
    assert len(described) == 75 and all(c["says"] and c["method"] and c["advice"] for c in described)


def test_the_document_shows_the_records():
    document = (ROOT / "docs" / "claims.md").read_text()
    for claim in json.loads(gnomon("claims", "--json", check=0).stdout):
        assert f"### {claim['id']}: {claim['says']}\n\n**{claim['recorded']}**. " in document, claim["id"]
        assert (claim["rests_on"] == "measurement") == bool(claim["decides"]) == (not claim["because"]), claim["id"]
        assert claim["because"] in document, claim["id"]


def test_one_claim_needs_no_text(tmp_path):
    done = gnomon("claims", "004-16", "--out", tmp_path / "out", check=0)
    assert "7.485166" in done.stdout
    assert "\n1 claim, 0 with another verdict" in done.stdout
    page = (tmp_path / "out" / "claims.html").read_text()
    assert ">1 claim of five texts" in page and "1 claims" not in page + (tmp_path / "out" / "claims.md").read_text()
    found = json.loads((tmp_path / "out" / "claims.json").read_text())["claims"]
    assert [c["id"] for c in found] == ["004-16"]
    assert found[0]["verdict"] == found[0]["recorded"] == "holds"


@pytest.mark.parametrize("arguments, told", [(["004-17"], "004-1"), (["Tom"], "unknown claim"), (["000-02"], "--text"), (["all", "--text", "nowhere"], "nowhere")])
def test_what_cannot_be_measured_is_said(arguments, told, tmp_path):
    done = gnomon("claims", *arguments, "--out", tmp_path / "out")
    assert done.returncode in (2, 4)
    assert told in done.stderr


def test_a_quick_run_finds_what_is_recorded(quick):
    out, found, _ = quick
    assert len(found["claims"]) == 75
    assert [c["id"] for c in found["claims"] if not c["as_expected"]] == []
    for claim in found["claims"]:
        assert claim["answer"], claim["id"]
        assert all(n["fits"] for n in claim["numbers"]), claim["id"]
    assert any(c["verdict"] == "no inference from a quick run" for c in found["claims"])
    assert [c["id"] for c in found["claims"] if "not measurable" in c["verdict"]] == []
    page = (out / "claims.html").read_text()
    assert "Nothing here about training is evidence" in page
    argued = [c["id"] for c in found["claims"] if c["rests_on"] != "measurement"]
    assert page.count("The verdict rests on a") == len(argued) > 0
    assert page.count("<dt>What decides</dt>") == 75 - len(argued)
    assert "…" not in (out / "claims.md").read_text(), "a question asks for a number that no claim found"


def test_finished_models_are_kept(quick, bible):
    out, found, seconds = quick
    again = json.loads(gnomon("claims", "all", "--quick", "--text", bible, "--out", out, "--json", check=0).stdout)
    for a, b in zip(found["claims"], again["claims"]):
        assert a["numbers"] == b["numbers"], a["id"]


def test_an_interrupted_run_says_so_and_goes_on(bible, tmp_path):
    out = tmp_path / "out"
    started = subprocess.Popen([str(GNOMON), "claims", "002-09", "--text", str(bible), "--out", str(out)], stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    started.send_signal(signal.SIGINT)
    _, told = started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGINT
    assert "goes on" in told


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_whole(quick, width, dark):
    driver = open_page(quick[0] / "claims.html", width)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert driver.get_log("browser") == []
        assert requests(driver) == []
        assert driver.execute_script(OVERLAPS) == []
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert driver.execute_script("return [...document.images].every(i => i.complete && i.naturalWidth > 0)")
        # Every label is at least 9 pixels high on the screen.
        small = "return [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height && t.getBoundingClientRect().height < 9 && !t.getAttribute('transform')).map(t => t.textContent)"
        assert driver.execute_script(small) == []
    finally:
        driver.quit()


@pytest.mark.parametrize("width, media", [(1280, "screen"), (390, "screen"), (720, "print")])
def test_every_verdict_is_seen(quick, width, media):
    driver = open_page(quick[0] / "claims.html", width)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
        column = """
        const table = document.querySelector('.verdicts table'), box = table.parentNode.getBoundingClientRect();
        return [...table.rows].map(r => r.cells[1]).map(c => [c.textContent, box.left <= c.getBoundingClientRect().left,
            c.getBoundingClientRect().right <= Math.min(box.right, innerWidth) && c.scrollWidth <= c.clientWidth]);"""
        head, *verdicts = driver.execute_script(column)
        assert head[0] == "verdict"
        assert len(verdicts) == 75 and all(name for name, *_ in verdicts)
        assert [name for name, begins, ends in [head, *verdicts] if not (begins and ends)] == []
        if width != 390:
            wide = "const t = document.querySelector('.verdicts table'); return t.scrollWidth <= t.parentNode.clientWidth"
            assert driver.execute_script(wide), "no column is cut"
    finally:
        driver.quit()


def test_the_clock_turns_clockwise(quick):
    driver = open_page(quick[0] / "claims.html")
    try:
        ends = """
        const s = document.querySelector('.turn input'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));
        const h = document.querySelector('[data-w="1"]');
        return [h.getAttribute('x2') - h.getAttribute('x1'), h.getAttribute('y1') - h.getAttribute('y2'), +h.dataset.r];"""
        x, y, r = driver.execute_script(ends, 0)
        assert abs(x) < 1e-6 and abs(y - r) < 1e-6, "position 0 points up"
        x, y, r = driver.execute_script(ends, 1)
        assert 0.84 < x / r < 0.842 and 0.54 < y / r < 0.541, "sine to the right, cosine up"
        button = driver.find_element("css selector", ".turn button")
        button.click()
        time.sleep(0.7)
        button.click()
        assert float(driver.execute_script("return document.querySelector('.turn input').value")) > 1
    finally:
        driver.quit()


def test_it_reads_without_javascript(quick):
    driver = open_page(quick[0] / "claims.html", javascript=False)
    try:
        assert not driver.find_element("css selector", ".turn").is_displayed(), "a slider that does nothing is not shown"
        assert len(driver.find_elements("css selector", "figure")) > 25
        driver.find_element("css selector", "details summary").click()
        assert driver.find_element("css selector", "details table").is_displayed()
    finally:
        driver.quit()
