"""Essays: docs/NAME.md is the template gnomon/pages/NAME.md with the numbers of records and of the full run, and no other number."""

import json
import re

import pytest

from conftest import ROOT

EVIDENCE = ROOT / "gnomon" / "claims" / "evidence"
NUMERAL = re.compile(r"(?<!\w)(?:\d[\d.,]*\d|\d)")

essays = pytest.mark.parametrize("essay", ["why-add", "survival"])


def parts(essay):
    """Words and places for numbers in turn."""
    return re.split(r"\{([^}]*)\}", (ROOT / "gnomon" / "pages" / f"{essay}.md").read_text())


def told(essay):
    """What stands in docs/ESSAY.md at each place for a number."""
    filled = re.fullmatch("(.+?)".join(map(re.escape, parts(essay)[::2])), (ROOT / "docs" / f"{essay}.md").read_text(), re.DOTALL)
    assert filled, f"docs/{essay}.md is not of this template: copy {essay}.md of a full run"
    return list(zip(parts(essay)[1::2], filled.groups()))


@essays
def test_the_document_is_the_template_with_numbers(essay):
    for place, number in told(essay):
        assert re.fullmatch(r"[−\d.,e]+( ± [\d.,]+)?", number), (place, number)


@essays
def test_its_numbers_of_records_are_theirs(essay):
    records = {path.stem: {n["key"]: n for n in json.loads(path.read_text())["numbers"]}
               for path in EVIDENCE.glob("*.json") if path.stem not in ("literature", "second-text")}
    checked = 0
    for place, number in told(essay):
        source, key = place.split("|")
        if source in records:
            value = float(number.split(" ± ")[0].replace("−", "-").replace(",", ""))
            assert abs(value - records[source][key]["value"]) <= 0.51 * 10 ** -records[source][key]["digits"], place
            checked += 1
    assert checked > (20 if essay == "why-add" else 2)


@essays
def test_its_numbers_of_the_run_are_those_of_the_claims(essay):
    claims = (ROOT / "docs" / "claims.md").read_text()
    printed = set(re.findall(r"^- .*: ([−\d.,]+(?: ± [\d.,]+)?)(?: \(n = \d+\))?(?:;.*)?$", claims, re.MULTILINE))
    for place, number in told(essay):
        if re.match(r"\d{3}-", place):
            assert number in printed, place


@essays
def test_no_other_number_is_typed(essay):
    """But those of papers, and settings that the name of a number has."""
    found = " ".join(paper["finding"] for paper in json.loads((EVIDENCE / "literature.json").read_text()))
    found += " ".join(n["name"] for n in json.loads((EVIDENCE / "minilm.json").read_text())["numbers"])
    for words in parts(essay)[::2]:
        words = re.sub(r"\(https?:[^)]*\)|issue \d+|claims 003-15|^\d\. |^\| \d \|", "", words, flags=re.MULTILINE)
        for numeral in NUMERAL.findall(words):
            assert numeral in NUMERAL.findall(found), numeral


def test_why_add_is_an_essay_with_three_figures():
    text = (ROOT / "docs" / "why-add.md").read_text()
    assert 700 <= len(re.sub(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)", "", text).split()) <= 950
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(figures) == 3
    for name in figures:
        assert (ROOT / "docs" / name).read_bytes()[:4] == b"\x89PNG" and (ROOT / "docs" / name).stat().st_size > 10_000
