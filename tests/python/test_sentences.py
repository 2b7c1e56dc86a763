"""No sentence of the program is longer than a reader can hold: 30 words, unless it is a list. sentences.py says what is read."""

import pytest

import sentences

ASSEMBLED = {"docs/claims.md", "docs/lint.md", "docs/encodings.md", "docs/families.md"}  # made of what the other groups hold


@pytest.mark.parametrize("group", [name for name in sentences.GROUPS if name != "pages"])
def test_no_sentence_of_the_program_is_too_long(group):
    found = list(sentences.GROUPS[group]())
    assert len(found) >= 10, "what is read is not there"
    assert [f"{place}: {s}" for place, text in found for s in sentences.too_long(text)] == []


def test_no_sentence_of_a_page_is_too_long():
    assert [f"{place}: {s}" for place, text in sentences.of_pages() if place not in ASSEMBLED for s in sentences.too_long(text)] == []


@pytest.mark.parametrize("text, how_many", [
    ("A model reads " + "one more word then " * 8 + "it ends.", 1),
    ("It ends. " * 30, 0),
    ("It takes bytes, symbols, ids, lines, copy, reverse, addition, needle, dyck, parity, sort, count, find, join, split, the rest, and whatever a file of your own may say beside them, now, here, or later.", 0),
])
def test_the_measure_measures(text, how_many):
    assert len(sentences.too_long(text)) == how_many
