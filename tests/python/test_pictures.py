"""What the pictures of docs show, as scripts/pictures recorded it, against the pages that show them: a picture of other words or numbers is old."""

import json
import re

import pytest

from conftest import ROOT

DOCS = ROOT / "docs"
SHOWN = json.loads((DOCS / "pictures.json").read_text())
OF_CLAIMS = ("claims", "claims-clock", "claims-dark", "claims-narrow-dark")


def plain(text):
    return re.sub(r"\s+", " ", text.replace("*", "")).strip()


def test_every_picture_is_recorded():
    assert sorted(SHOWN) == sorted(path.stem for path in DOCS.glob("*.png"))
    assert all(SHOWN.values())


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_the_answer_in_a_picture_is_that_of_the_page(name):
    page = plain((DOCS / "claims.md").read_text())
    assert all(plain(words) in page for words in SHOWN[name])
    assert plain(SHOWN[name][0]).replace("0", "1") not in page, "any words would do"


def numbers(text):
    """But bounds, which a page need not have."""
    return set(re.findall(r"\d+\.\d{2,}", re.sub(r"less than [\d.]+", "", text)))


def test_the_report_has_the_numbers_of_readme():
    (best,) = [words for words in SHOWN["report"] if "lowest loss" in words and "after" in words and "baseline" not in words][:1]
    difference = re.search(r"That is −?([\d.]+ ± [\d.]+)", best)[1]
    assert "-" + difference.replace("± ", "±") in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name, section", [("inspect-minilm", "## MiniLM"), ("inspect-smollm2", "## SmolLM2")])
def test_an_inspection_has_the_numbers_of_its_page(name, section):
    page = (DOCS / "inspect.md").read_text().split(section)[1].split("\n## ")[0]
    told = [words for words in SHOWN[name] if numbers(words)]
    assert told
    for words in told:
        assert any(number in page for number in numbers(words)), words
