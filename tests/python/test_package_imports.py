"""No two modules of the Python package import each other, not even inside a function: each can be read alone."""

import ast

from conftest import ROOT

PACKAGE = ROOT / "python" / "gnomon"


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imported_by(name):
    """Modules of the package that a file imports, wherever in it."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
        base = f"{base}.{node.module}" if node.module else base
        for alias in node.names:
            found.add(f"{base}.{alias.name}" if not node.module or f"{base}.{alias.name}" in MODULES else base)
    return {m for m in found if m in MODULES and m != name}  # the compiled module imports none


def circle(graph):
    done, on_the_way = set(), []

    def visit(name):
        if name in on_the_way:
            return [*on_the_way[on_the_way.index(name):], name]
        if name in done:
            return None
        on_the_way.append(name)
        found = next((c for c in map(visit, sorted(graph[name])) if c), None)
        on_the_way.pop()
        done.add(name)
        return found

    return next((c for c in map(visit, sorted(graph)) if c), None)


def test_no_modules_import_each_other():
    graph = {name: imported_by(name) for name in MODULES}
    assert sum(map(len, graph.values())) > 30, "imports are not seen"
    assert circle(graph) is None


def test_a_circle_would_be_seen():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
