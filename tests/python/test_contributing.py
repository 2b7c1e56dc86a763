"""What CONTRIBUTING.md shows compiles where it says that it belongs."""

import re
import shutil
import subprocess

import pytest

from conftest import ROOT

QUESTION = ROOT / "gnomon" / "claims" / "questions" / "how_loud.cpp"
END = "}  // namespace\n}  // namespace gnomon::claims\n"


def example():
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
    (shown,) = [block for block in blocks if "Record claim_" in block]
    return shown


@pytest.mark.parametrize("spoiled", [False, True])
def test_the_example_of_a_claim_compiles_in_the_file_of_its_question(tmp_path, spoiled):
    code = QUESTION.read_text()
    assert code.endswith(END)
    shown = example().replace("loss_difference", "loss_of_nobody") if spoiled else example()
    (tmp_path / "question.cpp").write_text(code.removesuffix(END) + shown + END)
    compiled = subprocess.run([shutil.which("c++"), "-std=c++20", "-fsyntax-only", "-I", ROOT, tmp_path / "question.cpp"], capture_output=True, text=True)
    assert (compiled.returncode == 0) != spoiled, compiled.stderr
