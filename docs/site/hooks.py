"""Makes the site of what there is: pages of encodings, of docs/, of notebooks, of the README."""

import base64
import hashlib
import pathlib
import posixpath
import re

from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

import contents
import figures
import gnomon as gn

ROOT = contents.ROOT
PAGES = {"README.md": "index.md", **{name: name for name in ("DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md")}}
WEB, RECORDED = ROOT / "build/web", ROOT / "build/site-pages"  # of the Makefile
# What the program writes about the same, with every picture.
WHOLE = {"claims.md": ("All claims on one page, with their pictures", "pages/claims.html"),
         "findings.md": ("The report of the default study", "pages/default-study.html")}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def _taken():
    """Files of the repository and where they stand in the site."""
    taken = dict(PAGES)
    for path in sorted((ROOT / "docs").iterdir()):
        if path.suffix in (".md", ".png"):
            taken[f"docs/{path.name}"] = path.name
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        taken[f"docs/notebooks/{path.name}"] = f"notebooks/{path.stem}.md"
    return taken


def _standing_alone():
    """Pages that are whole files, by their names in the site: those that run gnomon, and those that the program makes of docs/results.
    A site that is built without them, as for its tests, does not link to them."""
    pages = {f"pages/{path.name}": path for path in sorted(WEB.glob("*.html"))}
    pages |= {"pages/claims.html": RECORDED / "claims/claims.html", "pages/default-study.html": RECORDED / "study/report.html"}
    return {name: path for name, path in pages.items() if path.exists()}


def _title(page):
    return re.search(r"^# (.*)", page, re.M)[1]


def on_config(config):
    """What is a list of what there is: the navigation of encodings and notebooks, and where the package is."""
    notebooks = [{_title(_notebook(ROOT / source)): page} for source, page in _taken().items() if page.startswith("notebooks/")]
    families = {}
    for e in gn.encodings():
        families.setdefault(_family(e), []).append({e.name: f"encodings/{e.name}.md"})
    own = {"Encodings": ["registry.md", *({name: pages} for name, pages in families.items())], "Notebooks": notebooks}
    for item in config.nav:
        name = next(iter(item))
        item[name] = own.get(name, item[name])
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [str(pathlib.Path(gn.__file__).parent.parent)]
    return config


def _family(entry):
    names = {"none": "No position", "input": "Beside the words", "qk": "Queries and keys", "logits": "Bias of the logits",
             "cross": "Content and distance", "rows": "By content", "mask": "Masks", "positions": "Samplers"}
    return names[entry.acts.split(", ")[0]]


def on_files(files, config):
    add = lambda page, **what: files.append(File.generated(config, page, **what))
    for source, page in _taken().items():
        if page.endswith(".png"):
            add(page, abs_src_path=str(ROOT / source))
        else:
            add(page, content=_notebook(ROOT / source) if source.endswith(".ipynb") else (ROOT / source).read_text())
    for e in gn.encodings():
        add(f"encodings/{e.name}.md", content=contents.encoding_page(e, explorer="pages/explore.html" in _standing_alone()))
    for page, path in _standing_alone().items():
        add(page, abs_src_path=str(path))
    add("registry.md", content=contents.encodings_page())
    add("api.md", content=contents.api_page())
    return files


def _notebook(path):
    return MarkdownExporter().from_filename(str(path))[0]


def on_page_markdown(markdown, page, **_):
    """Links of the repository become links of the site; to what is not in the site, plain words."""
    if page.parent is None:
        page.meta.setdefault("hide", ["navigation"])
    if page.file.src_uri == "index.md":  # a drawing that follows the colours and the width, not a picture of a page
        markdown = re.sub(r"^!\[.*\]\(docs/report\.png\)$", lambda _: figures.default_study(), markdown, count=1, flags=re.M)
    alone = _standing_alone()
    markdown = re.sub(r"`build/web/(\w[\w-]*\.html)`", lambda name: f"[{name[1]}](pages/{name[1]})" if f"pages/{name[1]}" in alone else name[0], markdown)
    title, target = WHOLE.get(page.file.src_uri, ("", ""))
    if target in alone:
        markdown = re.sub(r"^(# .*)$", rf"\1\n\n[{title}]({target})", markdown, count=1, flags=re.M)
    taken = _taken()
    source = next((s for s, p in taken.items() if p == page.file.src_uri), None)
    if source is None:
        return markdown

    def here(link):
        path, hash, anchor = link[2].partition("#")
        if "://" in path or not path:
            return link[0]
        if path in alone:
            return link[0]
        target = taken.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if target is None:
            return "](#)"
        return link[1] + posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".") + hash + anchor + link[3]

    return re.sub(r"(?<!!)\[([^\]]*)\]\(#\)", r"\1", LINK.sub(here, markdown))


def on_page_content(html, **_):
    """Wide tables scroll by themselves."""
    return html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def on_post_page(output, **_):
    """A content-security policy (W3C, level 3): nothing comes from elsewhere, and of scripts within a page those that stand here run."""
    scripts = re.findall(r"<script(?![^>]*\b(?:src|type=\"?application/json))[^>]*>(.*?)</script>", output, re.S)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts}
    own = "'self' file: blob: data:"  # 'self' is nothing for a page from disk
    policy = f"default-src {own}; script-src {own} {' '.join(sorted(hashes))}; style-src {own} 'unsafe-inline'"
    return output.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
