"""Essays: docs/NAME.md is the template gnomon/claims/essays/NAME.md with the numbers of records and of the full run, and no other number."""

import json
import re

import pytest

from conftest import ROOT

EVIDENCE = ROOT / "gnomon" / "claims" / "evidence"
NUMERAL = re.compile(r"(?<!\w)(?:\d[\d.,]*\d|\d)")
BY_HAND = r"\n## Take a sum apart by hand\n.*?(?=\n## )"  # whose numbers are made up, and add up

essays = pytest.mark.parametrize("essay", ["why-add", "survival", "evidence"])


VALUE = r"([−\d.,e-]+(?: ± [\d.,]+)?(?: \(n = \d+(?:, no interval)?\))?)"
BY = r"(?:(?:lower|higher) by ([\d.,]+ ± [\d.,]+) nats|not told apart(?: from {other})?: " + VALUE + ")(?: than {other})?"


def pieces(form):
    """A form (gnomon/claims/sentence.h): words and slots in turn, a slot being what stands between braces that match."""
    out, depth, start = [], 0, 0
    for at, sign in enumerate(form):
        if sign == "{":
            if depth == 0:
                out.append(form[start:at])
                start = at + 1
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                out.append(form[start:at])
                start = at + 1
    return [*out, form[start:]]


def alternatives(choice):
    out, depth = [""], 0
    for sign in choice:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "|" and depth == 0:
            out.append("")
        else:
            out[-1] += sign
    return out


def pattern(form, places):
    """Of every text that the form may become; `places` gets the name and the format of each group."""
    out = ""
    for n, piece in enumerate(pieces(form)):
        asks, chosen, rest = piece.partition("?") if n % 2 else ("", "", "")
        if n % 2 == 0:
            out += re.escape(piece)
        elif chosen and "{" not in asks:
            out += "(?:" + "|".join(pattern(one, places) for one in alternatives(rest)) + ")"
        else:
            name, _, how = piece.partition(":")
            other = re.escape(how.partition(" ")[2])
            if how.startswith("vs"):
                out += BY.replace("{other}", other)
                places += [(name, "vs")] * 2
            else:
                out += VALUE
                places.append((name, how))
    return out


def template(essay):
    return (ROOT / "gnomon" / "claims" / "essays" / f"{essay}.md").read_text()


def told(essay):
    """What stands in docs/ESSAY.md at each place for a number, with the format that it was asked in."""
    places = []
    filled = re.fullmatch(pattern(template(essay), places), (ROOT / "docs" / f"{essay}.md").read_text(), re.DOTALL)
    assert filled, f"docs/{essay}.md is not of this template: make record"
    return [(place, how, number) for (place, how), number in zip(places, filled.groups()) if number is not None]


def value_of(number, how):
    """The first number of it, as the record has it; how many digits it was told to."""
    text = number.split(" ± ")[0].split(" (")[0].replace("−", "-").replace(",", "")
    digits = len(text.partition(".")[2])
    return (float(text) / 100, digits + 2) if "%" in how else (float(text), digits)


def sources():
    """The numbers of each record, and of each claim in the archived run, by key."""
    records = {path.stem: json.loads(path.read_text())["numbers"]
               for path in EVIDENCE.glob("*.json") if path.stem not in ("literature", "earlier-run") and not path.stem.startswith("text-")}
    run = json.loads((ROOT / "docs" / "results" / "claims.json").read_text())
    records |= {claim["id"]: claim["numbers"] for claim in run["claims"]}
    return {source: {n["key"]: n["value"] for n in numbers} for source, numbers in records.items()}


@essays
def test_the_document_is_the_template_with_the_numbers_that_it_names(essay):
    found, of_runs = sources(), set()
    for place, how, number in told(essay):
        source, key = place.split("|")
        value, digits = value_of(number, how)
        assert abs(abs(value) - abs(found[source][key]) if how == "vs" else value - found[source][key]) <= 0.51 * 10 ** -digits, place
        of_runs.add((source[0].isdigit(), place))
    assert sum(not run for run, _ in of_runs) > (20 if essay == "why-add" else 2) and sum(run for run, _ in of_runs) > 5


def fixed_words(form):
    for n, piece in enumerate(pieces(form)):
        if n % 2 == 0:
            yield piece
        elif "?" in piece.partition("{")[0]:
            for one in alternatives(piece.partition("?")[2]):
                yield from fixed_words(one)


@essays
def test_no_other_number_is_typed(essay):
    """But those of papers, and settings that the name of a number has."""
    found = " ".join(paper["finding"] for paper in json.loads((EVIDENCE / "literature.json").read_text()))
    found += " ".join(n["name"] for n in json.loads((EVIDENCE / "minilm.json").read_text())["numbers"])
    for words in fixed_words(re.sub(BY_HAND, "", template(essay), flags=re.DOTALL)):
        words = re.sub(r"\(https?:[^)]*\)|issue \d+|claims \d{3}-\d{2}|^\d\. |^\| \d \|", "", words, flags=re.MULTILINE)
        for numeral in NUMERAL.findall(words):
            assert numeral in NUMERAL.findall(found), numeral


def test_the_sum_by_hand_adds_up():
    table = re.search(BY_HAND, template("why-add"), re.DOTALL)[0].replace("−", "-")
    rows = {row[0].strip(): row[1:] for row in (line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")) if "," in row[1]}
    vectors = {name: [float(x) for x in cells[0].split(",")] for name, cells in rows.items()}
    sums = [name for name in rows if "+" in name]
    assert len(sums) == 4 and len(rows) == 8
    for name in sums:
        word, place = (vectors[part] for part in name.split(" + "))
        assert vectors[name] == pytest.approx([x + e for x, e in zip(word, place)]), name
        first, second = (float(cell) for cell in rows[name][1:3])
        assert [first, second] == pytest.approx([vectors[name][0] - vectors[name][1], vectors[name][2] - vectors[name][3]]), name
        assert (first > 0) == name.startswith("dog") and (second > 2) == name.endswith("1"), "what the text says of the differences"


def test_why_add_is_an_essay_with_four_figures():
    text = (ROOT / "docs" / "why-add.md").read_text()
    words = re.sub(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)", "", text).split()
    assert 700 <= sum(bool(re.search(r"\w", word)) for word in words) <= 1200
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(figures) == 4
    for name in figures:
        assert (ROOT / "docs" / name).read_bytes()[:4] == b"\x89PNG" and (ROOT / "docs" / name).stat().st_size > 10_000
