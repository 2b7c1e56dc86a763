"""Encodings, modules and explanations copy and pickle, also into another process that was spawned."""

import copy
import io
import json
import multiprocessing
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from shapes import NAMES, awake, qkv, small

LLAMA = pathlib.Path(__file__).parents[2] / "docs/examples/llama-3.1.json"
WAYS = [copy.copy, copy.deepcopy, *(lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in (2, pickle.HIGHEST_PROTOCOL))]


def attended(pe):
    return gn.attend(*qkv(), pe=pe)


@pytest.mark.parametrize("name", NAMES)
def test_an_encoding(name):
    pe = awake(small(name, causal=True, scale=0.3, soft_cap=5.0), seed=4)
    for way in WAYS:
        again = way(pe)
        assert type(again) is gn.Encoding and again.key == pe.key and (again.scale, again.layer, again.reads) == (pe.scale, pe.layer, pe.reads)
        np.testing.assert_array_equal(again.w, pe.w)
        np.testing.assert_array_equal(again.input_w, pe.input_w)
        assert not np.shares_memory(again.w, pe.w) or not len(pe.w)


def test_layers_and_sizes_are_kept():
    pe = gn.make("sinusoidal+[rope, alibi]", heads=4, kv_heads=2, head_dim=8, value_dim=6, width=10, length=77, causal=False, layer=3)
    again = pickle.loads(pickle.dumps(pe))
    assert again.config == pe.config and again.layer == 3 and again.acts == pe.acts and "logits" in again.acts


def test_an_encoding_in_a_spawned_process():
    pe = awake(small("t5"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(attended, (pe,)), attended(pe))


def test_modules(tmp_path):
    torch = pytest.importorskip("torch")
    import gnomon.torch as gnt
    module = gnt.make(awake(small("t5+rope_learned+learned")))
    q, k, v = (torch.from_numpy(a) for a in qkv())
    saved = io.BytesIO()
    torch.save(module, saved)
    saved.seek(0)
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), torch.load(saved, weights_only=False)):
        assert torch.equal(again(q, k, v), module(q, k, v))
        assert list(again.state_dict()) == list(module.state_dict())
        with torch.no_grad():
            for p in again.parameters():
                p += 1 + torch.rand_like(p)
        assert not torch.equal(again(q, k, v), module(q, k, v))
    average = torch.optim.swa_utils.AveragedModel(module)
    average.update_parameters(module)
    assert torch.equal(average(q, k, v), module(q, k, v))


def test_a_data_set_that_holds_a_module(tmp_path):
    """Workers that are spawned, as Python 3.14 starts them."""
    pytest.importorskip("torch")
    (tmp_path / "held.py").write_text(
        "import torch, gnomon.torch as gnt\n"
        "class Held(torch.utils.data.Dataset):\n"
        "    def __init__(self):\n        self.pe = gnt.make('t5', heads=2, head_dim=8)\n"
        "    def __len__(self):\n        return 3\n"
        "    def __getitem__(self, n):\n        q = torch.full((1, 2, 4, 8), float(n))\n        return self.pe(q, q, q)[0].detach()\n"
        "if __name__ == '__main__':\n"
        "    found = list(torch.utils.data.DataLoader(Held(), num_workers=1, multiprocessing_context='spawn'))\n"
        "    assert [float(y.mean()) for y in found] == [0.0, 1.0, 2.0], found\n")
    subprocess.run([sys.executable, "held.py"], cwd=tmp_path, check=True, timeout=300)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_cache_says_that_it_is_not_copied(way):
    with pytest.raises(gn.Error, match="not copied or pickled"):
        way(gn.KeyCache(gn.make("rope", heads=2), capacity=3))


def test_explanations(tmp_path):
    config = json.loads(LLAMA.read_text())
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    for x in (gn.explain(config), gn.explain(path), gn.explain(path, reader="v4")):
        for way in WAYS:
            again = way(x)
            assert again.data == x.data and again.page() == x.page() and again.differs_from(x)[0]
    kept = pickle.dumps(gn.explain(path))
    path.write_text(json.dumps({**config, "rope_theta": 7.0}))
    with pytest.raises(gn.Error, match="has changed"):
        pickle.loads(kept)


@pytest.mark.parametrize("code", [
    "pe = gn.make('t5', heads=2)\nraise ValueError('mine')",
    "def f(pe, cache):\n    x = gn.explain({path!r})\n    raise RuntimeError('mine')\nf(gn.make('rope', heads=2), gn.KeyCache(gn.make('rope', heads=2), capacity=3))",
    "import torch, gnomon.torch as gnt\nm = gnt.make('t5', heads=2, head_dim=8)\nq = torch.randn(1, 2, 4, 8, requires_grad=True)\n"
    "y = gn.attend(q, q, q, pe=m)\n(g,) = torch.autograd.grad(y.square().sum(), q, create_graph=True)\nraise ValueError('mine')",  # a graph holds it
    "gn.make('rop', heads=2)"])
def test_after_an_exception_its_traceback_is_all(code):
    if "torch" in code:
        pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", "import gnomon as gn\n" + code.replace("{path!r}", repr(str(LLAMA)))], capture_output=True, text=True)
    assert done.returncode == 1 and "mine" in done.stderr + "mine" * ("rop'" in code)
    assert "leak" not in done.stderr and "nanobind" not in done.stderr
    assert done.stderr.rstrip().splitlines()[-1].split(":")[0] in ("ValueError", "RuntimeError", "gnomon.errors.Error")
