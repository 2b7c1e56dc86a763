"""The site: it builds, needs no network, and every encoding has its page, whose code runs."""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import pytest

pytest.importorskip("material")
mathml = pytest.importorskip("latex2mathml.converter")

import gnomon as gn  # noqa: E402

ROOT = pathlib.Path(__file__).parent.parent.parent
SITE = ROOT / "docs/site"
sys.path.insert(0, str(SITE))
import contents  # noqa: E402

NAMES = [e.name for e in gn.encodings()]
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


class Page(html.parser.HTMLParser):
    """What a page loads, where it leads, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        self.anchors |= {said[name] for name in ("id", "name") if said.get(name)}
        if tag in LOADS and said.get(LOADS[tag]) and said.get("rel") not in ("canonical", "alternate"):
            self.loads.append(said[LOADS[tag]])
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a site that was built with every warning an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(SITE / "mkdocs.yml"), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_formula_is_understood(name):
    assert "\\" not in mathml.convert(gn.help(name).latex, display="block")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_an_encoding(site, name):
    page = (site / f"encodings/{name}.html").read_text()
    entry = gn.help(name)
    assert page.count("<math") == 1 and '<figure class="gnomon"><svg' in page and "nan" not in re.search(r"<figure.*?</figure>", page, re.S)[0]
    assert re.findall(r'<label for="__tabbed_1_\d">(.*?)</label>', page) == ["C++", "C", "Python"]
    assert entry.paper in page
    for option in entry.options:
        assert f"<td><code>{option.name}</code></td>" in page


def test_the_home_page_has_a_drawing_and_axes_say_what_they_are(site):
    home = (site / "index.html").read_text()
    drawing = re.search(r'<figure class="gnomon">.*?</figure>', home, re.S)[0]
    assert "report.png" not in home and "rope+alibi" in drawing and "King James Bible" in drawing
    for name in ("rope", "yarn", "linear"):
        assert "Wavelength in tokens (log axis)" in (site / f"encodings/{name}.html").read_text()


def test_nothing_is_loaded_from_the_network(site, pages):
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"(https?:)?//", address), (path, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\([\"']?(https?:)?//", style.read_text()), style


def test_links_lead_somewhere(site, pages):
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links are absolute
        for link in page.links + page.loads:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), (path, link)
            state = "=" in address.fragment  # what a page that runs gnomon shows, which is no anchor
            assert not state or target.parent.name == "pages", (path, link)
            if address.fragment and target in pages and not state and not address.fragment.startswith("__"):
                assert urllib.parse.unquote(address.fragment) in pages[target].anchors, (path, link)


def test_python_code_runs():
    for entry in gn.encodings():
        exec(compile(contents.snippet(entry, "python"), entry.name, "exec"), {})


def _compiles(tmp_path, language, compiler, flags):
    """All code of a language in one file, each under a name of its own."""
    parts, heads = [], set()
    for entry in gn.encodings():
        code = contents.snippet(entry, language)
        heads |= set(re.findall(r"^#include .*$", code, re.M))
        parts.append(re.sub(r"\b(attend|vectors|sample|model)\(", rf"{entry.name}_\1(", re.sub(r"^(#include|using) .*$", "", code, flags=re.M)))
    space = "using namespace gnomon;\n" if language == "cpp" else ""
    source = tmp_path / f"snippets.{language}"
    source.write_text("\n".join(sorted(heads)) + "\n" + space + "\n".join(parts))
    done = subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.skipif(not shutil.which("g++"), reason="no compiler")
def test_cpp_code_compiles(tmp_path):
    _compiles(tmp_path, "cpp", "g++", ["-std=c++20", "-Wno-missing-field-initializers"])


@pytest.mark.skipif(not shutil.which("gcc") or not (ROOT / "gnomon/c/gnomon.h").exists(), reason="no compiler, or no C interface here")
def test_c_code_compiles(tmp_path):
    _compiles(tmp_path, "c", "gcc", ["-std=c99"])


def test_models_that_have_it():
    files, models = contents.published()
    assert files == len(list((ROOT / "tests/golden/configs").glob("*.json")))
    assert set(models) <= set(NAMES)
    assert {m["name"] for m in models["t5"]} == {"t5", "byt5", "mpnet"}
    assert {m["name"] for m in models["learned"]} >= {"gpt2", "opt", "roberta"}
    assert {m["name"] for m in models["none"]} >= {"smollm3", "exaone4"}


@pytest.mark.skipif(not shutil.which("chromium"), reason="no browser")
def test_search_finds_from_disk(site, tmp_path):
    command = ["chromium", "--headless=new", "--no-sandbox", f"--user-data-dir={tmp_path}", "--host-resolver-rules=MAP * ~NOTFOUND",
               "--virtual-time-budget=10000", "--dump-dom", f"file://{site}/index.html?q=ntk"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    found = re.findall(r'<a href="[^"]*?([^/"]+\.html)[^"]*" class="md-search-result__link"', shown)
    assert "ntk.html" in found
