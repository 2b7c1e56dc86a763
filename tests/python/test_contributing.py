"""What CONTRIBUTING.md shows compiles where it says that it belongs."""

import re
import shutil
import subprocess

import pytest

from conftest import ROOT

QUESTION = ROOT / "gnomon" / "claims" / "questions" / "how_loud.cpp"
END = "}  // namespace\n}  // namespace gnomon::claims\n"
FENCE = "`" * 3


def example(language, word):
    blocks = re.findall(rf"^{FENCE}{language}\n(.*?)^{FENCE}$", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
    (shown,) = [block for block in blocks if word in block]
    return shown


@pytest.mark.parametrize("spoiled", [None, ("loss_difference", "loss_of_nobody"), ("method:", "metod:"), ("the paper's}", "the paper's"),
                                     ("{gap:vs", "{gap?vs"), ("[002-16]", "[002-17]")], ids=str)
def test_the_example_of_a_claim_compiles_in_the_file_of_its_question(tmp_path, spoiled):
    code, words = QUESTION.read_text(), QUESTION.with_suffix(".txt").read_text()
    assert code.endswith(END)
    code, words = code.removesuffix(END) + example("cpp", "Record claim_") + END, words + "\n" + example("", "[002-16]")
    if spoiled:
        assert (spoiled[0] in code) != (spoiled[0] in words)
        code, words = code.replace(*spoiled), words.replace(*spoiled)
    (tmp_path / "question.cpp").write_text(code)
    text = tmp_path / "gnomon" / "claims" / "questions" / "how_loud.txt.inc"  # as the build makes it
    text.parent.mkdir(parents=True)
    text.write_text(f'GNOMON_PROSE(R"file({words})file")\n')
    compiled = subprocess.run([shutil.which("c++"), "-std=c++20", "-fsyntax-only", "-I", ROOT, "-I", tmp_path, tmp_path / "question.cpp"],
                              capture_output=True, text=True)
    assert (compiled.returncode == 0) == (spoiled is None), compiled.stderr
