"""Breaks the code on purpose, one line at a time, and sees that a test notices; and adds a dummy encoding, by one
file and one line, and sees that everything knows it. `make mutants` runs it: minutes, not part of `make test`.

A mutant is (file, what stands there, what it becomes, tests that have to fail). The text must stand there exactly
once, so a mutant that no longer applies is an error, not a pass.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
WORK = ROOT / "build" / "mutants"

MUTANTS = [
    ("sign of the ALiBi slope", "gnomon/encodings/alibi.cpp",
     "return -slope(h) * std::abs(double(delta));", "return slope(h) * std::abs(double(delta));", "encodings_test"),
    ("geometric slopes for every head count", "gnomon/encodings/alibi.cpp",
     "P = geometric_ ? H :", "P = true ? H :", "golden_test"),
    ("causal diagonal off by one", "gnomon/kernels/attend-inl.h",
     "tile.i0 + a + shift_ - tile.j0 + 1, 0, tile.nj", "tile.i0 + a + shift_ - tile.j0, 0, tile.nj", "kernels_test"),
    ("online softmax without its rescale", "gnomon/kernels/attend-inl.h",
     "total = total * shrink + sum(sum_now);", "total = total + sum(sum_now);", "kernels_test"),
    ("output not rescaled when the maximum grows", "gnomon/kernels/attend-inl.h",
     "if (shrink != 1.0f) {", "if (shrink > 1.0f) {", "kernels_test"),
    ("wrong pairing in the fast rotation", "gnomon/encodings/rope.cpp",
     'options.word("pairing") == "halves" ? Pairing::halves', 'options.word("pairing") != "halves" ? Pairing::halves', "golden_test"),
    ("gradient of the rotation turns forward", "gnomon/encodings/rope.cpp",
     "turn(b, layout, -1, drows);", "turn(b, layout, +1, drows);", "encodings_test"),
    ("T5 buckets mirrored", "gnomon/encodings/t5.cpp",
     "!shape_.causal && delta < 0 ? B : 0", "!shape_.causal && delta > 0 ? B : 0", "golden_test"),
    ("tensor2tensor divides by N instead of N - 1", "gnomon/encodings/sinusoidal.cpp",
     "std::max<std::int64_t>(pairs() - 1, 1)", "std::max<std::int64_t>(pairs(), 1)", "golden_test"),
    ("GELU gradient loses a term", "gnomon/kernels/pointwise.cpp",
     "hn::MulAdd(set(3.0f), cubic, one)", "hn::MulAdd(set(1.0f), cubic, one)", "kernels_test"),
    ("sign of the mean in the LayerNorm gradient", "gnomon/kernels/norm.cpp",
     "hn::Sub(g(c, n), mean_g)", "hn::Add(g(c, n), mean_g)", "kernels_test"),
    ("bias gradient is not added up over the batch", "gnomon/kernels/attend.cpp",
     "for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];",
     "for (std::size_t i = 0; i < part.size(); ++i) sum[i] = part[i];", "kernels_test"),
    ("Adam without bias correction", "gnomon/kernels/adamw.cpp",
     "c1 = 1 - std::pow(s.beta1, double(s.t))", "c1 = 1", "kernels_test"),
    ("a checkpoint mixes up Adam's moments", "gnomon/lab/run.cpp",
     'copy("optimiser.v.", trainer_.v);', 'copy("optimiser.m.", trainer_.v);', "lab_test"),
]

DUMMY = """// A dummy: p times channel number. Acts on the input. No parameters.
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {
class Dummy final : public Encoding {
 public:
  using Encoding::Encoding;
  double input(const Scene& s, std::int64_t t, std::int64_t c) const override { return s.positions[t] * double(c); }
  void input(const Batch& b, float* e) const override {
    for (std::int64_t n = 0; n < b.T() * shape_.C; ++n) e[n] = float(b.positions[n / shape_.C] * double(n % shape_.C));
  }
};
}  // namespace
extern const Entry dummy_entry;
const Entry dummy_entry = {.name = "dummy", .title = "Dummy", .paper = "https://example.org", .year = 2026,
                           .acts = kInput, .relative = false, .options = {},
                           .make = [](const Options&, const Shape& s) { return std::make_unique<Dummy>(s); }};
}  // namespace gnomon
"""


def copy_tree():
    shutil.rmtree(WORK / "tree", ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-c", "-o", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (WORK / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, WORK / "tree" / name)


def build(*targets):
    tree = WORK / "tree"
    subprocess.run(["cmake", "--preset", "dev", "-Wno-dev"], cwd=tree, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "--preset", "dev", "--target", *targets], cwd=tree, check=True, capture_output=True)
    return tree / "build" / "dev"


def is_killed(name, file, before, after, test):
    path = WORK / "tree" / file
    original = path.read_text()
    if original.count(before) != 1:
        raise SystemExit(f"{name}: '{before}' stands {original.count(before)} times in {file}")
    path.write_text(original.replace(before, after))
    try:
        ran = subprocess.run([build(test) / "tests" / test, "--gtest_brief=1"], capture_output=True, text=True)
    finally:
        path.write_text(original)
    return ran.returncode != 0 and "FAILED" in ran.stdout


def dummy_is_known():
    tree = WORK / "tree"
    (tree / "gnomon/encodings/dummy.cpp").write_text(DUMMY)
    with open(tree / "gnomon/encodings/list.def", "a") as rows:
        rows.write("ENCODING(dummy)\n")
    folder = build("gnomon_cli", "encodings_test", "model_test")
    listed = subprocess.run([folder / "gnomon", "encodings", "dummy"], capture_output=True, text=True)
    laws = subprocess.run([folder / "tests" / "encodings_test", "--gtest_brief=1"], capture_output=True, text=True)
    model = subprocess.run([folder / "tests" / "model_test", "--gtest_brief=1"], capture_output=True, text=True)
    return listed.returncode == 0 and "Dummy" in listed.stdout and laws.returncode == 0 and model.returncode == 0


def main():
    copy_tree()
    for test in sorted({m[4] for m in MUTANTS}):  # without a mutation they pass
        subprocess.run([build(test) / "tests" / test, "--gtest_brief=1"], check=True, capture_output=True)
    survivors = 0
    for mutant in MUTANTS:
        killed = is_killed(*mutant)
        survivors += not killed
        print(f"{'killed by ' + mutant[4] if killed else 'SURVIVED':24} {mutant[0]}", flush=True)
    known = dummy_is_known()
    print("a dummy encoding, one file and one line:", "known to the command line, the laws and the model" if known else "FAILED")
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} mutants killed")
    return 0 if known and not survivors else 1


if __name__ == "__main__":
    sys.exit(main())
