"""The picture of each encoding, from the numbers of the package."""

import pathlib

import numpy as np

import gnomon as gn
from drawing import curves, differences, figure, heat

LENGTH, FAR = 64, 256  # tokens of a training window; tokens that are looked at
MOVED = "with parameters moved at random from their start"


def _moved(pe, size=0.1):
    random = np.random.default_rng(1)
    for numbers in (pe.w, pe.input_w):
        numbers += size * random.standard_normal(numbers.shape, np.float32)
    return pe


def _made(spec, **sizes):
    return gn.make(spec, **{**dict(heads=1, head_dim=64, length=LENGTH), **sizes})


def _caption(*parts):
    said = [p for p in parts if p]
    return ("; ".join(said) + ".")[0].upper() + ("; ".join(said) + ".")[1:]


def vectors(entry):
    pe = _moved(_made(entry.name), 0 if entry.name == "learned" else 0.1)
    e = pe.vectors(np.arange(float(LENGTH)))
    near = e @ e[LENGTH // 2]
    panels = [heat("The vectors", "channel", "position", e),
              curves(f"Dot product with position {LENGTH // 2}", "position", [("", "own", near)])]
    start = f"its {pe.input_w.size} parameters at their initial values" if entry.name == "learned" else MOVED if pe.input_w.size else ""
    return figure(panels, _caption("orange is above 0, blue below", start), entry.title)


def parameters(entry):
    """Where the vectors follow from the words: the weights of the words, as they start."""
    name, numbers = next(iter(_made(entry.name).parameters().items()))
    rows = np.asarray(numbers).reshape(len(numbers), -1)[:, :LENGTH]
    return figure([heat(f"The start of {name.removeprefix('input.')}", "number", "channel", rows)], _caption("orange is above 0, blue below"), entry.title)


def _score(pe, far=FAR):
    """q·k by distance, of a query and keys of ones, the query at the last position, over the score at distance 0 of plain ones."""
    ones = np.ones((1, pe.heads, far, pe.head_dim), np.float32)
    q, k = pe.rotate(ones, ones)
    return k[0, 0, ::-1].astype(float) @ q[0, 0, -1].astype(float) / pe.head_dim


def _logits(pe, far=FAR):
    """The same where the score is no product: from the weights of attention, less the logit at distance 0."""
    ones = np.ones((1, pe.heads, far, pe.head_dim), np.float32)
    weights = gn.attend(ones, ones, np.broadcast_to(np.eye(far, dtype=np.float32), (1, pe.heads, far, far)), pe=pe)
    return np.log(weights[0, 0, -1, ::-1] / weights[0, 0, -1, -1]) / np.sqrt(pe.head_dim)


def rotation(entry):
    pe, plain = _moved(_made(entry.name)), _made("rope")
    if "rows" in entry.acts:
        score, measured = _logits(_made(entry.name, value_dim=FAR)), "less the score at distance 0"
        other = _score(plain) - 1
    else:
        score, measured, other = _score(pe), "a query and keys of ones, over the product without position", _score(plain)
    lines = [(entry.name, "own", score)] + ([("rope", "other", other)] if entry.name != "rope" else [])
    panels = [curves("Score by distance", "distance in tokens", lines)]
    if entry.name == "log_n":
        ones = np.ones((1, 1, FAR, 64), np.float32)
        panels = [curves("Factor of the query", "position", [("", "own", np.linalg.norm(pe.rotate(ones, ones)[0][0, 0], axis=-1) / 8)])]
    waves = _wavelengths(pe, plain)
    return figure(panels + waves, _caption(measured, MOVED if pe.w.size else "",
                                           f"made for {LENGTH} tokens, seen over {FAR}; heads of 64 channels"), entry.title)


def _wavelengths(pe, plain):
    """A panel, or none where there are no frequencies or those of plain RoPE at the trained length."""
    try:
        own, other = pe.frequencies, plain.frequencies
    except gn.Error:
        return []
    lines = [(pe.spec, "own", 2 * np.pi / own[own > 0])]
    if np.array_equal(own, other) and pe.spec != "rope":
        return []
    if pe.spec != "rope":
        lines.append(("rope", "other", 2 * np.pi / other))
    return [curves("Wavelength in tokens (log axis)", "pair of channels", lines, log=True)]


def bias(entry):
    pe = _made(entry.name, heads=8)
    fresh = pe.bias(np.arange(float(FAR)))[:, -1, ::-1]
    moved = np.ptp(fresh) < 1e-9 or entry.name in ("t5", "dynamic_bias")
    lines = _moved(pe, 0.5).bias(np.arange(float(FAR)))[:, -1, ::-1] if moved else fresh
    lines = [(f"head {h}" if h in (0, 7) else "", f"own head{h}", line) for h, line in enumerate(lines)]
    said = MOVED if moved else "its parameters at their initial values" if pe.w.size else ""
    return figure([curves("Added to the logit", "distance in tokens", lines)], _caption("by distance, eight heads", said), entry.title)


def _content(pe, tokens):
    random = np.random.default_rng(2)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    q, k = draw(1, pe.heads, tokens, pe.head_dim), draw(1, pe.heads, tokens, pe.head_dim)
    given, rows = {}, pe.heads * pe.head_dim
    if "x" in pe.reads:
        given["x"] = draw(1, tokens, pe.width)
    if "projections" in pe.reads:
        given["projections"] = [0.1 * draw(*s) for s in ((rows, pe.width), (rows, pe.width), (rows,), (rows,))]
    return q, k, given


def _weights(pe, tokens):
    """Square roots of the weights of attention: values that are the identity give them."""
    q, k, given = _content(pe, tokens)
    values = np.broadcast_to(np.eye(tokens, dtype=np.float32), (1, pe.heads, tokens, tokens))
    return np.sqrt(gn.attend(q, k, values, pe=pe, **given)[0, 0])


def weights(entry):
    tokens = 40
    spec = {"shaw": "shaw(values=off)", "window": "window(size=8)", "chunk": "chunk(size=8)"}.get(entry.name, entry.name)
    sizes = dict(heads=2, head_dim=tokens, length=tokens)  # heads as wide, for values that are the identity
    pe = _moved(_made(spec, **sizes), 0.5)
    panels = [heat("Weights without position", "key", "query", _weights(_made("none", **sizes), tokens))]
    if entry.name != "none":
        panels.append(heat(f"With {spec}", "key", "query", _weights(pe, tokens)))
    return figure(panels, _caption("random queries and keys, causal, head 0; shades are square roots", MOVED if pe.w.size else ""), entry.title)


def sampled(entry):
    pe = _made(entry.name)
    places = np.arange(float(LENGTH))
    lines = [(str(n + 1), f"own head{3 * n}", pe.sampled(places, seed=1, draw=n)) for n in range(3)]
    return figure([curves("Positions in training", "token", lines + [("as they are", "other", places)])],
                  _caption("three draws, as three sequences get them"), entry.title)


def kind(entry):
    """What of an encoding can be asked by itself: "positions", "vectors", "rotation", "bias" or, with content, "weights"; of vectors that follow
    from the words, its parameters alone: "words"."""
    acts = entry.acts.split(", ")
    if "positions" in acts:
        return "positions"
    if "input" in acts:
        return "words" if _reads_words(entry) else "vectors"
    reads = gn.make(entry.name, heads=1).reads
    if "qk" in acts and "logits" not in acts and not reads:
        return "rotation"
    return "bias" if acts == ["logits"] and not reads else "weights"


def _reads_words(entry):
    try:
        _made(entry.name).vectors([0.0])
    except gn.Error:
        return True
    return False


def draw(entry):
    by_kind = {"words": parameters, "positions": sampled, "vectors": vectors, "rotation": rotation, "bias": bias, "weights": weights}
    return by_kind[kind(entry)](entry)


def default_study():
    """What README begins with, from the numbers of docs/findings.md: each arm of the default study against its baseline."""
    page = (pathlib.Path(__file__).parents[2] / "docs/findings.md").read_text().split("\n## ")[1]
    rows = [[cell.strip().replace("\u2212", "-") for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")][2:]
    found = [(arm, *(float(x) for x in less.split("\u00b1"))) if less != "baseline" else (arm, 0.0, None) for arm, _, _, less, *_ in rows]
    baseline = next(arm for arm, _, half in found if half is None)
    largest = sorted(abs(value) for _, value, _ in found)[-2]
    far = [f"{arm} ({value:+.3f})" for arm, value, _ in found if abs(value) > 3 * largest]
    panel, height = differences([row for row in found if abs(row[1]) <= 3 * largest], f"difference to {baseline}, nats per byte; left is better")
    return figure([panel], "Held-out loss of the default study on the King James Bible; bars are 95 % intervals."
                  + (f" Beyond the picture: {', '.join(far)}." if far else ""),
                  "Nine ways of telling position, compared", height)
