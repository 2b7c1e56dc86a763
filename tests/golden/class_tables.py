"""Tables of positions beside the words: which rows the tokens read, what stands in them, and the factor of the words. For make_classes.py."""

import contextlib
import inspect
import math
import re

import torch
from class_shapes import INPUT_ROWS, INPUTS

PLACES = re.compile("pos(?!t)|wpe")


def tables_of(model):
    """Tables of positions, learned or made: by the address of their numbers."""
    named = list(model.named_parameters()) + list(model.named_buffers())
    for name, module in model.named_modules():  # TrOCR keeps its sines in neither
        own = getattr(module, "weights", None)
        if isinstance(own, torch.Tensor):
            named.append((f"{name}.weights", own))
    named = [(name, x if x.dim() == 2 else x.reshape(x.shape[-2:])) for name, x in named if x.dim() >= 2 and math.prod(x.shape[:-2]) == 1]
    return {x.data_ptr(): (name, x) for name, x in named if PLACES.search(name) and x.is_floating_point() and min(x.shape) > 1}


def turned_by(table):
    """The frequencies of a table of sines and cosines, from its angles farther and farther on; None: it is none."""
    n = table.shape[1] // 2
    sines, cosines = table[:, :n].detach().double(), table[:, n:2 * n].detach().double()
    if len(table) < 4 or float((sines ** 2 + cosines ** 2 - 1).abs().max()) > 1e-5:
        return None
    turns = torch.atan2(sines, cosines)
    f, at = turns[1], 1
    while 2 * at < len(table):
        at *= 2
        f = (turns[at] + 2 * math.pi * torch.round((f * at - turns[at]) / (2 * math.pi))) / at
    return f


@contextlib.contextmanager
def in_double(model):
    """Numbers of twice the digits: without a spy a factor is measured."""
    torch.set_default_dtype(torch.float64)
    try:
        yield model.double()
    finally:
        torch.set_default_dtype(torch.float32)
        model.float()


def words_of(config, tokens):
    """Tokens that all differ as far as the vocabulary goes, and that are no padding."""
    ids = torch.arange(tokens) % 16 + 2  # MPNet takes 1 for padding, whatever it is told
    return (ids + (getattr(config, "pad_token_id", None) or 0)).expand(INPUT_ROWS.get(config.model_type, 1), tokens)


def inputs_of(config, model, tokens):
    if config.model_type in INPUTS:
        return INPUTS[config.model_type](config, tokens)
    masked = "attention_mask" in inspect.signature(model.forward).parameters
    return {"input_ids": words_of(config, tokens), **({"attention_mask": torch.ones(1, tokens, dtype=torch.long)} if masked else {})}


def longest(config, model, rows):
    """How many tokens a class takes whose table ends with this row; None: it makes more rows, or others."""
    def takes(tokens):
        try:
            with torch.no_grad():
                model(**inputs_of(config, model, tokens))
        except Exception:  # of any kind: it takes no so long input
            return False
        return True
    return rows if takes(rows) and not takes(rows + 1) else None


def table_of(config, model, read, ends=None):
    """The table beside the words: the row of the first token, and how many tokens have one; of sines, some of them as well. `ends`: whether
    the class takes no more tokens than rows; None: it is asked."""
    moving = {name: rows for name, rows in read.items() if rows and rows == list(range(rows[0], rows[0] + len(rows)))}
    if not moving:
        return None
    name, rows = next(iter(moving.items()))
    table = dict(tables_of(model).values())[name]
    last = len(table) - rows[0]
    found = {"first": rows[0], "longest": longest(config, model, last) if ends is None else last if ends else None}
    if not table.requires_grad:
        width = table.shape[1]
        channels = sorted({0, 1, 2, 3, width // 2 - 1, width // 2, width // 2 + 1, width - 2, width - 1})
        found["sines"] = [[t, c, float(f"{float(table[rows[t], c]):.7g}")] for t in (0, 1, len(rows) - 1) for c in channels]
    more = sorted(other for other in read if other not in moving)
    words = word_factor(config, model, name, rows)
    return {**found, **({"more": more} if more else {}), **({} if words is None else {"words": words})}


def words_table(model):
    """Of several tables, whose vectors are summed, the first."""
    try:
        own = model.get_input_embeddings()
    except NotImplementedError:
        own = model.embeddings.token_embedding
    return getattr(own[0] if isinstance(own, torch.nn.ModuleList) else own, "weight", None)


def word_factor(config, model, name, rows):
    """The factor of a word vector beside its position vector: what moving the one changes of the last layer, by what moving the other does.
    None: the two are not added."""
    words, table = words_table(model), dict(tables_of(model).values())[name]
    if words is None or words.shape[-1] != table.shape[-1]:
        return None
    try:
        with in_double(model):
            return ratio_moved(config, model, name, rows, 1e-4)
    except RuntimeError:  # the class itself says float32
        return ratio_moved(config, model, name, rows, 1e-2)


def ratio_moved(config, model, name, rows, step):
    words, table, at = words_table(model), dict(tables_of(model).values())[name], len(rows) // 2
    given, direction = inputs_of(config, model, len(rows)), torch.randn(table.shape[-1])
    ids = next(iter(given.values()))

    def moved(of, index):
        ends = []
        for sign in (1, -2):
            with torch.no_grad():
                of[index] += sign * step * direction
                out = model(**given)[0][0]
                ends.append(out[min(at, len(out) - 1)].clone())
        with torch.no_grad():
            of[index] += step * direction
        return ends[0] - ends[1]
    by_word, by_place = moved(words, int(ids[0, at])), moved(table, rows[at])
    large = by_place.abs() > 1e-3 * by_place.abs().max()
    ratio = (by_word / by_place)[large]
    return float(f"{float(ratio.mean()):.6g}") if float(ratio.max() - ratio.min()) < 1e-3 * float(ratio.abs().max()) else None
