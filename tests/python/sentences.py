"""The sentences that a reader of gnomon meets: pages, texts beside the code, strings of the program, docstrings, comments of
installed headers. What a number, a name in code or a place for a number stands for counts as one word."""

import ast
import re

from conftest import ROOT

LONGEST = 30  # words


def files_like(*patterns):
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def without_markdown(text):
    """Running text alone: no code, tables, pictures, headings, links."""
    text = re.sub(r"^```.*?^```$", "\n", text, flags=re.M | re.S)
    text = re.sub(r"<[^>]+>|!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "CODE", text)
    lines = ["\n" if re.match(r"\s*(\||#)", line) else re.sub(r"^\s*([-*>]|\d+\.)\s+", "\n\n", line) for line in text.splitlines()]
    return "\n".join(lines).replace("*", "")


def longest_choice(form):
    """A form of core/prose.h with each place as one word, each choice as its longest alternative."""
    while (inner := re.search(r"\{([^{}]*)\}", form)):
        said = inner[1].split("?", 1)[1].split("|") if "?" in inner[1] else ["NUMBER"]
        form = form[: inner.start()] + max(said, key=lambda words: len(words.split())) + form[inner.end() :]
    return form


def of_prose_files():
    """(place, text) of each field that is words: not examples, links or names."""
    no_words = ("fails", "passes", "link", "lead")
    for path in files_like("gnomon/**/*.txt"):
        if path.name == "CMakeLists.txt":
            continue
        record = ""
        for field in re.split(r"\n(?=\S)", path.read_text()):
            if field.startswith("["):
                record = field.strip("[]\n ")
            name, _, words = field.partition(":")
            if field.startswith(("#", "[", "//")) or record == "$" or name.split(".")[0] in no_words:
                continue
            yield f"{path.relative_to(ROOT)} [{record}] {name}", longest_choice(" ".join(words.split()))


LITERAL = r'"(?:\\.|[^"\\\n])*"'
JOINED = re.compile(rf'{LITERAL}(?:\s*{LITERAL}|\s*\+(?:(?!")[^;{{}}])*?\+\s*{LITERAL})*')


def of_cpp(*patterns):
    """(place, text) of each string of C++, neighbours joined, what stands between two by + as one word."""
    for path in files_like(*patterns):
        code = path.read_text()
        code = re.sub(r'R"(\w*)\(.*?\)\1"', '""', code, flags=re.S)
        code = re.sub(r"(?m)(^|\s)//.*$|^#include.*$", "", code)
        for found in JOINED.finditer(code):
            pieces = re.split(rf"({LITERAL})", found[0])
            text = "".join(p[1:-1] if p.startswith('"') else "" if not p.strip() else "WORD" for p in pieces)
            text = text.replace('\\"', "“").replace("\\n", "\n")
            if len(re.findall(r"[a-z]{2,} ", text)) >= 3:
                yield f"{path.relative_to(ROOT)}:{code[: found.start()].count(chr(10)) + 1}", text


def of_docstrings():
    for path in files_like("python/gnomon/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                yield f"{path.relative_to(ROOT)} {getattr(node, 'name', '')}", ast.get_docstring(node)


def of_installed_headers():
    listed = re.findall(r"gnomon/\S+\.h", (ROOT / "cmake/GnomonInstall.cmake").read_text())
    for name in dict.fromkeys(listed):
        comment, start = [], 0
        for n, line in enumerate([*(ROOT / name).read_text().splitlines(), ""], 1):
            found = re.match(r"\s*//\s?(.*)", line) or re.search(r"[;{,]\s+//\s(.*)", line)
            if found:
                comment.append(found[1])
                start = start or n
            elif comment:
                yield f"{name}:{start}", without_markdown("\n".join(comment))
                comment, start = [], 0


def of_pages():
    for path in [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "DESIGN.md")] + files_like("docs/*.md", "gnomon/claims/essays/*.md"):
        text = path.read_text()
        yield str(path.relative_to(ROOT)), without_markdown(longest_choice(text) if "essays" in path.parts else text)


def of_browser_pages():
    """(place, text) of each paragraph, caption and label of the pages that run in a browser."""
    for path in files_like("web/pages/*.html"):
        body = re.sub(r"<code>.*?</code>", "CODE", path.read_text(), flags=re.S)
        for found in re.finditer(r"<(p|li|figcaption|td|th|label|summary|h\d)\b[^>]*>(.*?)</\1>", body, re.S):
            yield f"{path.relative_to(ROOT)} <{found[1]}>", re.sub(r"<[^>]+>", "", found[2])


def sentences(text):
    for paragraph in re.split(r"\n\s*\n|:\n", text):
        for sentence in re.split(r"(?<=[.!?])[\"”)]?\s+(?=[\"“‘(\[]?[A-Z0-9_~-])", " ".join(paragraph.split())):
            yield sentence


def words(sentence):
    return [word for word in sentence.split() if re.search(r"\w", word)]


def is_list(sentence):
    """Five things or more that commas part, none of them long."""
    items = re.split(r"[,;:()]|\b(?:and|or)\b", sentence)
    return len(items) >= 5 and max(len(item.split()) for item in items) <= 11


def too_long(text):
    return [s for s in sentences(text) if len(words(s)) > LONGEST and not is_list(s)]


GROUPS = {
    "texts beside the code": of_prose_files,
    "strings of the library": lambda: of_cpp("gnomon/**/*.cpp", "gnomon/**/*.h"),
    "strings of the command line": lambda: of_cpp("cli/*.cpp", "cli/*.h"),
    "strings of the bindings": lambda: of_cpp("python/bindings/*.cpp", "python/bindings/*.h"),
    "docstrings": of_docstrings,
    "installed headers": of_installed_headers,
    "pages in a browser": of_browser_pages,
    "pages": of_pages,
}
