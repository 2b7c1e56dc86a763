"""What the pages of encodings say: facts from the registry, the documentation and published configurations."""

import inspect
import pathlib
import re
from functools import cache

import jinja2
import latex2mathml.converter

import figures
import gnomon as gn

SITE = pathlib.Path(__file__).parent
ROOT = SITE.parent.parent


def _range(option):
    if option.words:
        return ", ".join(f"`{w}`" for w in option.words)
    if option.whole:
        return f"whole, {option.least:,.0f} to {option.most:,.0f}"
    return f"{option.least:g} to {option.most:g}"


def _source(paper):
    """"arXiv 2104.09864", or the host of the address."""
    arxiv = re.search(r"arxiv.org/abs/(.*)", paper)
    return f"arXiv {arxiv[1]}" if arxiv else paper.split("/")[2]


_templates = jinja2.Environment(loader=jinja2.FileSystemLoader(SITE / "templates"), undefined=jinja2.StrictUndefined,
                                keep_trailing_newline=False)
_templates.filters.update(range=_range, source=_source, cell=lambda said: said.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_"))


@cache
def costs():
    """The columns of docs/costs.md by name."""
    rows = re.findall(r"^\| (\w+) \| (.*) \|$", (ROOT / "docs/costs.md").read_text(), re.M)
    return {name: columns.split(" | ") for name, columns in rows if name != "encoding"}


def _layers(numbers):
    """[0, 1, 2, 5] as "0–2, 5"; long patterns as how many."""
    runs = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    if len(runs) > 3:
        return f"{len(numbers)} of them"
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def _short(spec):
    """A spec whose lists are no longer than a line."""
    return re.sub(r"(\d[\d.]*)(?:/[\d.]+){4,}", r"\1/…", spec)


def _named(spec):
    """The encodings of a spec: words that are no option and no value of one."""
    words = re.findall(r"(?<![=\w])[a-z]\w*(?![=\w])", spec)
    return [e.name for e in gn.encodings() if e.name in words and e.name != "none"]


@cache
def published():
    """(how many files, what they have by encoding: dictionaries of name, layers, spec)."""
    found, files = {}, sorted((ROOT / "tests/golden/configs").glob("*.json"))
    for path in files:
        told = gn.explain(path)
        parts = [(told.data["input"], [n for group in told.layers for n in group["layers"]])]
        parts += [(group["spec"].removeprefix("add(none, scale=off)").lstrip("+"), group["layers"]) for group in told.layers]
        nothing = not _named(parts[0][0])
        for spec, layers in parts[nothing:]:
            for name in _named(spec) if spec else ["none"] * nothing:
                row = dict(name=path.stem, layers=_layers(sorted(set(layers))), spec=_short(spec or "none"))
                rows = found.setdefault(name, [])
                rows += [row] * (row not in rows)
    return len(files), found


def _facts(entry):
    pe = gn.make(entry.name, heads=8, head_dim=64, length=128)
    return dict(entry=entry, kind=figures.kind(entry), reads=pe.reads,
                parameters=[name.removeprefix("input.").removeprefix("0.") for name in pe.parameters()])


def snippet(entry, language):
    """The code of one encoding: "cpp", "c" or "python"."""
    return _templates.get_template(f"{language}.j2").render(**_facts(entry))


def encoding_page(entry, explorer):
    files, models = published()
    code = {language: snippet(entry, language) for language in ("cpp", "c", "python")}
    return _templates.get_template("encoding.md.j2").render(
        **_facts(entry), **code, explorer=explorer, formula=latex2mathml.converter.convert(entry.latex, display="block"), figure=figures.draw(entry),
        cost=costs().get(entry.name), models=models.get(entry.name, []), files=files)


def encodings_page():
    entries = gn.encodings()
    sites = dict.fromkeys(site for e in entries for site in e.acts.split(", "))
    return _templates.get_template("encodings.md.j2").render(entries=entries, sites=sites, years=sorted({e.year for e in entries}))


def api_page():
    """The package's names, for mkdocstrings to fill in: functions, then classes, then gnomon.torch."""
    public = sorted((getattr(gn, name) for name in gn.__all__), key=inspect.isclass)
    names = [f"::: {thing.__module__}.{thing.__qualname__}" for thing in public]
    about = "\n".join(line for line in inspect.getdoc(gn).splitlines())
    return "\n\n".join(["# Every name of the package", about, *names, "::: gnomon.torch", ""])
