"""gnomon beside PyTorch and ONNX Runtime on this machine, in turns: training steps, attention and decoding, of the same shapes on the same
threads.

    python3 bench/peers/run.py [--gnomon build/release/gnomon] [--rounds 7] [--threads 2] [--cases step.a step.d64] [--json FILE]

Runs with the Python that has torch or onnxruntime, and installs nothing. It says which peers it found. Each round times gnomon, then every form of
each peer: as installed, and tuned by its environment; PyTorch eager and compiled, in float32, and in bfloat16 by autocast. Tuned: memory is not given back to the system
between calls, and MKL takes its AVX-512 path whoever made the processor, by a library of one line that a C compiler makes. The best form
of each precision is compared with gnomon in the same. Let nothing else run meanwhile.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from timed import DECODE

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
TOKENS = {"step.a": 8 * 512, "step.d384": 16 * 256, "step.d128": 4 * 128, "step.d64": 4 * 128}
CASES = [*TOKENS, "attend.t512", "attend.t4096", "attend.t128.d32", *DECODE]
# What is imported, the script, in which modes it runs, and the cases that it has.
PEERS = {"PyTorch": ("torch", "pytorch.py", ("eager", "compiled"), CASES),
         "ONNX Runtime": ("onnxruntime", "onnx_runtime.py", ("whole",), DECODE)}
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "2147483648", "MALLOC_TOP_PAD_": "67108864"}


def threads_of(case, threads):
    return 1 if case == "step.d64" else threads


def environments(folder):
    """By name, what is set beside the environment as it is."""
    tuned = dict(MALLOC)
    compiler = shutil.which("cc")
    if compiler:
        source, library = folder / "mkl.c", folder / "mkl.so"
        source.write_text("int mkl_serv_intel_cpu_true(void) { return 1; }\n")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        tuned["LD_PRELOAD"] = str(library)
    return {"installed": {}, "tuned": tuned}


def is_there(module):
    return importlib.util.find_spec(module) is not None


class Peer:
    """A process that waits for a line and then times some calls."""

    def __init__(self, script, case, form, more, threads):
        self.form = form
        environment = os.environ | more | {"OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen([sys.executable, HERE / script, case, *form.split()[1:], str(threads)], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.version = self.process.stdout.readline().split()[1:]

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def cases_of_gnomon(program, case):
    """By precision, those that this machine can time: a step in both, attention in float32."""
    listed = {line.split()[0] for line in subprocess.run([program, "bench", "--list"], check=True, capture_output=True, text=True).stdout.splitlines() if line}
    names = {precision: f"{case}.{precision}" for precision in ("fp32", "bf16")} if case in TOKENS else {"fp32": case}
    return {precision: name for precision, name in names.items() if name in listed}


def of_gnomon(program, name, threads):
    done = subprocess.run([program, "bench", name, "--rounds", "3", "--threads", str(threads), "--json", "--quiet"], check=True,
                          capture_output=True, text=True)  # three, so that it is timed about as long as a peer
    return json.loads(done.stdout)[0]["value"]


def peers_of(case, precisions, made, threads):
    """Every form of every peer that was found and has the case, by its name."""
    found = []
    for peer, (module, script, modes, cases) in PEERS.items():
        if case not in cases or not is_there(module):
            continue
        for form in [f"{name} {precision} {mode}" for name in made for precision in precisions for mode in modes]:
            one = Peer(script, case, form, made[form.split()[0]], threads)
            if one.version:
                found.append((f"{peer} {one.version[0]}, {form}", one))
            else:
                print(f"{case}: {peer}, {form}, does not run here", file=sys.stderr)
    return found


def compare(program, case, options, made):
    """Medians of each form, in the unit of gnomon's case, and gnomon's ratio to the best peer of each precision."""
    threads = threads_of(case, options.threads)
    ours = cases_of_gnomon(program, case)
    peers, found = peers_of(case, ours, made, threads), {f"gnomon {precision}": [] for precision in ours}
    for _ in range(options.rounds):
        for precision, name in ours.items():
            found[f"gnomon {precision}"].append(of_gnomon(program, name, threads))
        for name, peer in peers:
            found.setdefault(name, []).append(amount_of(case) / peer.seconds())
    for _, peer in peers:
        peer.end()
    return {"case": case, "threads": threads, "rounds": options.rounds,
            "forms": {name: {"median": statistics.median(all), "low": min(all), "high": max(all)} for name, all in found.items()},
            "ratios": ratios(found)}


def amount_of(case):
    """What a call does, in the unit of gnomon's case: tokens, or GFLOP of attention."""
    return TOKENS.get(case) or (1 if case in DECODE else operations(case) / 1e9)


def operations(case):
    """As `gnomon bench` counts them: the pairs that a causal mask leaves."""
    from pytorch import ATTENTION
    B, H, T, D = ATTENTION[case]
    return 6.0 * B * H * T * (T + 1) * D


def ratios(found):
    """gnomon over the best peer of the same precision, round by round."""
    out = {}
    for precision in ("fp32", "bf16"):
        peers = {name: all for name, all in found.items() if not name.startswith("gnomon") and f" {precision} " in f" {name} "}
        if peers:
            best = max(peers, key=lambda name: statistics.median(peers[name]))
            each = [ours / theirs for ours, theirs in zip(found[f"gnomon {precision}"], peers[best])]
            out[precision] = {"best": best, "median": statistics.median(each), "low": min(each), "high": max(each)}
    return out


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--gnomon", default=ROOT / "build/release/gnomon")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--cases", nargs="*", default=CASES)
    options.add_argument("--json", type=pathlib.Path)
    options = options.parse_args()
    here = [peer for peer, (module, *_) in PEERS.items() if is_there(module)]
    if not here:
        sys.exit("no peer was found: this Python has neither torch nor onnxruntime (pip install torch onnx onnxruntime)")
    print(f"peers: {', '.join(here)}")
    all_found = []
    with tempfile.TemporaryDirectory() as folder:
        made = environments(pathlib.Path(folder))
        for case in options.cases:
            found = compare(options.gnomon, case, options, made)
            all_found.append(found)
            print(f"{case}, {found['threads']} threads, medians of {found['rounds']} rounds in turns")
            for name, x in found["forms"].items():
                print(f"  {name:44} {x['median']:10.0f} [{x['low']:.0f}, {x['high']:.0f}]")
            for precision, r in found["ratios"].items():
                print(f"  gnomon over the best, both in {precision}: {r['median']:.2f} [{r['low']:.2f}, {r['high']:.2f}], {r['best']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(all_found, indent=1) + "\n")


if __name__ == "__main__":
    main()
