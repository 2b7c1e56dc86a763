"""docs/why-add.md: the template with the numbers of records and of the full run, and no other number."""

import json
import re

from conftest import ROOT

TEMPLATE = (ROOT / "gnomon" / "pages" / "why-add.md").read_text()
ESSAY = (ROOT / "docs" / "why-add.md").read_text()
EVIDENCE = ROOT / "gnomon" / "claims" / "evidence"
NUMERAL = re.compile(r"(?<!\w)(?:\d[\d.,]*\d|\d)")


def parts():
    """Words and places for numbers in turn."""
    return re.split(r"\{([^}]*)\}", TEMPLATE)


def told():
    """What stands in docs/why-add.md at each place for a number."""
    words = parts()[::2]
    filled = re.fullmatch("(.+?)".join(map(re.escape, words)), ESSAY, re.DOTALL)
    assert filled, "docs/why-add.md is not of this template: copy why-add.md of a full run"
    return list(zip(parts()[1::2], filled.groups()))


def test_the_document_is_the_template_with_numbers():
    for place, number in told():
        assert re.fullmatch(r"[−\d.,e]+( ± [\d.,]+)?", number), (place, number)


def test_its_numbers_of_records_are_theirs():
    records = {path.stem: {n["key"]: n for n in json.loads(path.read_text())["numbers"]}
               for path in EVIDENCE.glob("*.json") if path.stem not in ("literature", "second-text")}
    checked = 0
    for place, number in told():
        source, key = place.split("|")
        if source in records:
            value = float(number.split(" ± ")[0].replace("−", "-").replace(",", ""))
            assert abs(value - records[source][key]["value"]) <= 0.51 * 10 ** -records[source][key]["digits"], place
            checked += 1
    assert checked > 20


def test_its_numbers_of_the_run_are_those_of_the_claims():
    claims = (ROOT / "docs" / "claims.md").read_text()
    if "**Measured by earlier rules.**" in claims:  # then the essay is newer
        return
    for place, number in told():
        if re.match(r"\d{3}-", place):
            assert number.split(" ± ")[0] in claims, place


def test_no_other_number_is_typed():
    """But those of papers, and settings that the name of a number has."""
    found = " ".join(paper["finding"] for paper in json.loads((EVIDENCE / "literature.json").read_text()))
    found += " ".join(n["name"] for n in json.loads((EVIDENCE / "minilm.json").read_text())["numbers"])
    for words in parts()[::2]:
        words = re.sub(r"\(https?:[^)]*\)|issue \d+", "", words)
        for numeral in NUMERAL.findall(words):
            assert numeral in NUMERAL.findall(found), numeral


def test_it_is_an_essay_with_three_figures():
    prose = re.sub(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)", "", ESSAY)
    assert 700 <= len(prose.split()) <= 950
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", ESSAY)
    assert len(figures) == 3
    for name in figures:
        assert (ROOT / "docs" / name).read_bytes()[:4] == b"\x89PNG" and (ROOT / "docs" / name).stat().st_size > 10_000
