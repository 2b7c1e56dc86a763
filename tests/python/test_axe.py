"""axe-core finds nothing to complain of on any page that the program makes: wide and light, narrow and dark, folded and open."""

import importlib.util
import pathlib

import pytest

from conftest import ROOT, gnomon, study_arguments, tiny_bert
from test_report import open_page, show_as

AXE = (pathlib.Path(importlib.util.find_spec("axe_core_python").origin).parent / "axe.min.js").read_text()
FOUND = """
const told = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(r => told(r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | '))), e => told([String(e)]));
"""


def complaints(driver):
    driver.execute_script(AXE)
    return driver.execute_async_script(FOUND)


def shown(*spec):
    return lambda folder: gnomon("show", *spec, "--out", folder / "page.html", check=0)


def explained(name):
    return lambda folder: gnomon("explain", ROOT / "docs/examples" / name, "--out", folder / "page.html", check=0)


PAGES = {
    "show sinusoidal": shown("sinusoidal"),
    "show rope+alibi": shown("rope+alibi"),
    "show alibi, twelve heads": shown("alibi(slopes=geometric)", "--heads", "12"),
    "show t5": shown("t5"),
    "explain llama": explained("llama-3.1.json"),
    "explain gemma": explained("gemma-3.json"),
}


@pytest.fixture(scope="module")
def page_of(study, text, tmp_path_factory):
    """The path of a page by its name; each is made once."""
    made = {"study": study[0] / "report.html"}

    def make(name):
        if name in made:
            return made[name]
        folder = tmp_path_factory.mktemp("axe")
        if name == "studies of parts":
            plan = folder / "plan.toml"
            plan.write_text("".join(f'[[part]]\nname = "{part}"\n[part.study]\nseeds = {seeds}\n' for part, seeds in (("one", 1), ("two", 2))))
            done = gnomon("study", plan, *study_arguments(text, folder / "out", "study.arms=none, sinusoidal")[1:], check=0)
            assert done.stdout and (folder / "out" / "report.html").exists()
            made[name] = folder / "out" / "report.html"
        elif name == "inspect":
            gnomon("inspect", tiny_bert(folder / "bert"), "--text", text, "--out", folder / "page.html", check=0)
            made[name] = folder / "page.html"
        else:
            PAGES[name](folder)
            made[name] = folder / "page.html"
        return made[name]

    return make


def finds_nothing(page):
    driver = open_page(page)
    try:
        for width, dark, folded in ((1280, False, True), (1280, False, False), (390, True, False)):
            show_as(driver, width, dark=dark)
            if not folded:
                driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
            assert complaints(driver) == [], (width, dark, folded)
    finally:
        driver.quit()


@pytest.mark.parametrize("name", [*PAGES, "study", "studies of parts", "inspect"])
def test_axe_finds_nothing(page_of, name):
    finds_nothing(page_of(name))


@pytest.mark.parametrize("harm, rule", [
    ("document.querySelector('table.data thead').rows[0].cells[1].innerHTML = '<button></button>'", "button-name"),
    ("document.documentElement.removeAttribute('lang')", "html-has-lang"),
    ("document.querySelector('main').style.color = '#bbb'; document.querySelector('main').style.setProperty('--ink', '#bbb')", "color-contrast"),
])
def test_axe_would_have_found(page_of, harm, rule):
    driver = open_page(page_of("show sinusoidal"))
    try:
        show_as(driver, 1280)
        assert complaints(driver) == []
        driver.execute_script(harm)
        assert rule in [found.split(":")[0] for found in complaints(driver)]
    finally:
        driver.quit()
