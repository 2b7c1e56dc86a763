"""scripts/inspected writes docs/inspect.md from results, and from nothing else."""

import json
import re
import subprocess

from conftest import ROOT, gnomon, tiny_bert


def test_the_numbers_of_the_page_are_those_of_the_files(text, tmp_path):
    bert = tiny_bert(tmp_path / "bert")
    ids = tmp_path / "ids.txt"
    ids.write_text(" ".join(str(n * n % 19) for n in range(9000)))
    llama = ROOT / "tests/golden/opened/llama"
    first = json.loads(gnomon("inspect", bert, "--text", text, "--json", "--quiet", check=0).stdout)
    second = json.loads(gnomon("inspect", llama, "--ids", ids, "--window", 32, "--longest", 64, "--beyond", 2, "--each-head", "--json",
                               "--quiet", check=0).stdout)
    first["table"]["norm_ratio"], second["without"][0]["nats"] = 123.45, 6.789  # whatever stands there is written
    short = {"loss": {"nats": 1.234567, "window": 64, "windows": 3}}
    paths = [tmp_path / f"{name}.json" for name in ("first", "second", "short")]
    for path, found in zip(paths, (first, second, short)):
        path.write_text(json.dumps(found))
    page = subprocess.run([ROOT / "scripts/inspected", *paths], capture_output=True, text=True, check=True).stdout
    assert "A position is 123.45 times as long as a word" in page and "| no positions | +6.789 ±" in page
    assert "gnomon's loss is 1.234567 nats" in page and f"{second['longer'][4]['nats']:.3f} ±" in page
    assert len(re.findall(r"^\| \d+ \|", page, re.M)) >= len(first["terms"]) + len(first["streams"])
