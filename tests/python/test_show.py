"""`gnomon show` draws what is so: distances are tokens, content is called content, and sizes have limits."""

import json
import math
import os
import pty
import re
import subprocess

import numpy
import pytest

from conftest import GNOMON, gnomon, study_arguments
from test_report import open_page, show_as


def shown(spec, *arguments):
    return json.loads(gnomon("show", spec, "--json", *arguments, check=0).stdout)


def bias(spec, *arguments):
    return next(f for f in shown(spec, *arguments)["encodings"][0]["facts"] if f["name"] == "bias")


def by_distance(fact):
    return {int(row["name"].split()[1]): row["values"] for row in fact["rows"]}


@pytest.mark.parametrize("spec, one", [("fox", -numpy.log1p(numpy.exp(-5))), ("fox(bias=1)", -numpy.log1p(numpy.exp(-1))),
                                       ("data_alibi", -numpy.log(2)), ("stick_breaking", -numpy.log(2))])
def test_what_counts_tokens_finds_those_between(spec, one):
    fact = bias(spec)
    values = by_distance(fact)
    for distance in (1, 2, 3, 8, 64):
        assert numpy.allclose(values[distance], distance * one, rtol=1e-9), distance
    assert "words without content" in fact["title"]


def test_a_bias_by_distance_keeps_its_numbers():
    fact = bias("alibi")
    assert fact["title"] == "Added to the logit, by distance and head (initial values)"
    for distance, values in by_distance(fact).items():
        assert numpy.allclose(values, [-distance * s for s in (.25, .0625, .015625, .00390625)], rtol=0, atol=0)
    assert set(by_distance(bias("alibi", "--length", 300))) == {0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256}


def test_weights_are_not_called_a_bias(tmp_path):
    fact = bias("stick_breaking")
    assert fact["title"].startswith("Logarithm of the weight")
    assert by_distance(fact)[0] == [None] * 4, "no weight on the token itself"
    gnomon("show", "stick_breaking", "--out", tmp_path / "page.html", check=0)
    page = (tmp_path / "page.html").read_text()
    assert "ln of the weight" in page and "bias, nats of logit" not in page


@pytest.mark.parametrize("spec", ["cope", "rerope", "self_extend"])
def test_what_only_words_decide_is_said(spec, tmp_path):
    fact = bias(spec)
    assert "depends on the content" in fact["note"] and fact["rows"] == []
    assert "depends on the content" in gnomon("show", spec, "--out", tmp_path / "page.html", check=0).stdout
    page = (tmp_path / "page.html").read_text()
    assert "Bias against distance, by head: depends on the content" in page
    assert "bias, nats of logit" not in page


@pytest.mark.parametrize("spec, said", [("deberta_v2", True), ("data_alibi", False), ("deberta", False), ("rope", False)])
def test_channels_are_drawn_where_q_and_k_say_all(spec, said, tmp_path):
    gnomon("show", spec, "--out", tmp_path / "page.html", check=0)
    assert ("contributes at each distance: depends on the content" in (tmp_path / "page.html").read_text()) == said


def test_the_report_of_a_study_says_the_same(text, tmp_path):
    gnomon(*study_arguments(text, tmp_path / "out", "study.arms=none, fox, cope", "study.baseline=none", "study.seeds=1"), check=0)
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("Bias against distance, by head: depends on the content") == 1
    assert "for words without content" in report


def test_the_width_follows_the_heads():
    assert [shown("alibi", "--heads", heads)["dim"] for heads in (4, 12)] == [64, 192]
    assert shown("alibi", "--heads", 12, "--dim", 96)["dim"] == 96


@pytest.mark.parametrize("heads, drawn", [(1, range(1)), (9, range(9)), (12, range(12)), (32, range(32)),
                                          (40, [n * 39 // 31 for n in range(32)])])
def test_all_heads_are_drawn_or_said_to_be_left_out(heads, drawn, tmp_path):
    page = tmp_path / "page.html"
    gnomon("show", "alibi(slopes=geometric)", "--heads", heads, "--out", page, check=0)
    picture = page.read_text().split("<figcaption>Bias against distance, by head", 1)[1].split("</figure>", 1)[0]
    fact = bias("alibi(slopes=geometric)", "--heads", heads)
    for n in range(heads):
        assert (f">head {n}<" in picture) == (n in drawn), n
    assert fact["columns"] == [f"head {n}" for n in drawn]
    cut = f"{len(drawn)} of {heads} heads" if heads > 32 else ""
    assert (cut in fact["title"] and f"Of {heads} heads, {len(drawn)} are drawn" in picture) if cut else "are drawn" not in picture
    assert fact["rows"][1]["values"] == pytest.approx([-2 ** (-8 * (n + 1) / heads) for n in drawn])


@pytest.mark.parametrize("width, fits", [(1280, 8), (1280, 12), (1280, 32), (390, 12)])
def test_the_right_edge_of_a_table_is_within_reach(width, fits, tmp_path):
    gnomon("show", "alibi(slopes=geometric)", "--heads", fits, "--out", tmp_path / "page.html", check=0)
    driver = open_page(tmp_path / "page.html")
    try:
        show_as(driver, width)
        goes_on, fade, name, end = driver.execute_script("""
            const scroll = document.querySelector('.scroll'), row = scroll.querySelector('tbody').rows[0], box = scroll.getBoundingClientRect();
            const goes_on = scroll.scrollWidth > scroll.clientWidth;
            scroll.scrollLeft = 1e6;
            return [goes_on, parseFloat(getComputedStyle(scroll, '::after').width), row.cells[0].getBoundingClientRect().left - box.left,
                    box.right - row.cells[row.cells.length - 1].getBoundingClientRect().right];""")
        assert goes_on == (fits > 8)
        assert end >= fade > 0 and abs(name) < 1  # the last number stands clear of what fades, and the names stay
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        driver.quit()


@pytest.mark.parametrize("arguments, told", [
    (["sinusoidal", "--dim", 65536, "--heads", 256], "--dim: found 65536, allowed are 1 to 16384"),
    (["sinusoidal", "--dim", 0], "--dim: found 0, allowed are 1 to 16384"),
    (["alibi", "--heads", 100000], "--heads: found 100000, allowed are 1 to 1024"),
    (["rope", "--length", 200000], "--length: found 200000, allowed are 1 to 131072"),
    (["sinusoidal", "--dim", 16384, "--length", 4096], "--dim times --length: found 67108864, allowed are 1 to 16777216"),
    (["fourier(features=4096)", "--dim", 1024, "--length", 2048], "fourier: its definition needs 3"),
    (["rope", "--dim", 16384, "--heads", 1], "allowed are 40e9"),
])
def test_absurd_sizes_are_refused(arguments, told):
    assert told in gnomon("show", *arguments, check=2).stderr


@pytest.mark.parametrize("arguments", [["fourier(features=4096)"], ["sinusoidal", "--dim", 16384, "--heads", 128],
                                       ["rope", "--dim", 8192, "--heads", 64, "--length", 2048]])
def test_large_models_are_shown(arguments):
    assert shown(*arguments)["encodings"][0]["facts"]


def test_fewer_vectors_are_compared_where_each_costs_more():
    rows = [next(f for f in shown(*spec)["encodings"][0]["facts"] if f["name"] == "distances")["rows"][1]["name"]
            for spec in (["sinusoidal"], ["sinusoidal", "--dim", 4096], ["fourier(features=4096)"])]
    assert rows == ["least of 1..20000", "least of 1..4959", "least of 1..128"]


def test_what_takes_long_says_so_on_a_terminal(tmp_path):
    terminal, end = pty.openpty()
    command = [str(GNOMON), "show", "fourier(features=4096)", "--length", "512", "--out", str(tmp_path / "page.html")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        os.close(end)
        told = b""
        try:
            while piece := os.read(terminal, 4096):
                told += piece
        except OSError:  # the other end is closed
            pass
    os.close(terminal)
    assert process.returncode == 0
    assert b"fourier: computing from the definition, 1 s" in told
    assert told.endswith(b"\r\033[K"), "the line is taken away"
    assert gnomon("show", "alibi", check=0).stderr == ""


def far_page(tmp_path, spec, *arguments):
    gnomon("show", spec, "--out", tmp_path / "page.html", *arguments, check=0)
    return (tmp_path / "page.html").read_text()


def test_clocks_far_away_show_the_angles_there(tmp_path):
    clock = far_page(tmp_path, "rope", "--first", 1000000).split("The hands of the clock")[-1].split("</figure>")[0]
    hands = [[float(x) for x in hand] for hand in re.findall(r'<line x1="([-\d.]+)" y1="([-\d.]+)" x2="([-\d.]+)" y2="([-\d.]+)"', clock)]
    assert len(hands) == 6 * 8
    for (x1, y1, x2, y2), (p, n) in zip(hands, [(p, n) for p in (0, 1, 2, 5, 20, 100) for n in range(8)], strict=True):
        angle, length = (1000000 + p) * 10000 ** (-n / 8), numpy.hypot(x2 - x1, y1 - y2)
        assert numpy.allclose([x2 - x1, y1 - y2], [length * numpy.sin(angle), length * numpy.cos(angle)], atol=0.02), (p, n)


# The angles that no distance in training reached, by their definition: of a pair that made no full turn, those beyond its last.
@pytest.mark.parametrize("spec, length, first", [("rope", 512, 1024), ("rope", 128, 100000), ("rope(theta=500)", 64, 64), ("linear(factor=4)", 512, 1024)])
def test_pairs_that_leave_what_training_has_seen(spec, length, first, tmp_path):
    page = far_page(tmp_path, spec, "--length", length, "--first", first)
    trained = (500. if "theta" in spec else 10000.) ** (-numpy.arange(8) / 8)
    there = trained / (4 if "factor" in spec else 1)
    angles = numpy.outer(there, numpy.arange(first, first + length)) % (2 * numpy.pi)
    leave = int((angles > trained[:, None] * (length - 1) + 1e-9).any(axis=1).sum())
    assert (leave == 0) == ("factor" in spec)
    assert f"At distances {first:,} to {first + length - 1:,}, {leave} of 8 pairs make angles that no distance below {length:,} made" in page


def test_pictures_begin_at_position_0_unless_told(tmp_path):
    assert far_page(tmp_path, "rope") == far_page(tmp_path, "rope", "--first", 0)
    assert "Which pairs leave" not in far_page(tmp_path, "rope")
    assert "there is none at position 5,000; the last is that of 127" in far_page(tmp_path, "learned", "--first", 5000)
    for first in (-1, 10 ** 10):
        assert f"--first: found {first}, allowed are 0 to 1000000000" in gnomon("show", "rope", "--first", first, check=2).stderr


def test_a_bias_far_away_is_that_of_the_distance(tmp_path):
    """The axis reaches the bias of ALiBi at distance 1,000 under its first slope, 2^-2."""
    assert ">−250<" in far_page(tmp_path, "alibi", "--first", 1000) and ">−250<" not in far_page(tmp_path, "alibi")
