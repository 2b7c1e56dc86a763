"""Who imports whom in the package: no module that it imports, at the top or within a function, leads back to a module."""

import ast
import pathlib
import subprocess
import sys

import pytest

import gnomon

PACKAGE = pathlib.Path(gnomon.__file__).parent


def imported(path):
    """Modules of the package that a file imports, by the names of their files."""
    folder = path.parent.relative_to(PACKAGE).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        base = PACKAGE.joinpath(*folder[:len(folder) - node.level + 1], *(node.module or "").split("."))
        for alias in node.names:  # a module of the folder, or a name in it
            yield next((at for at in (base / f"{alias.name}.py", base / alias.name / "__init__.py", base.with_suffix(".py"),
                                      base / "__init__.py") if at.is_file()), None)


def circle(arrows):
    """Modules that lead back to the first of them; none."""
    state = {}

    def visit(at, way):
        state[at] = "open"
        for to in arrows[at]:
            if state.get(to) == "open":
                return [*way[way.index(to):], to] if to in way else [at, to]
            if to not in state and (found := visit(to, [*way, to])):
                return found
        state[at] = "done"
        return []

    for start in arrows:
        if start not in state and (found := visit(start, [start])):
            return found
    return []


def test_no_module_leads_back_to_itself():
    # The package itself imports everything, and says how gnomon.torch is loaded.
    files = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]
    arrows = {path: sorted({to for to in imported(path) if to in files and to != path}) for path in files}
    assert sum(map(len, arrows.values())) > 40
    assert circle(arrows) == []


@pytest.mark.parametrize("name", ["torch", "transformers", "onnx"])
def test_a_part_is_imported_when_it_is_asked_for(name):
    pytest.importorskip(name)
    asks = f"import sys, gnomon as gn; assert {name!r} not in sys.modules; assert gn.{name}.__name__ == 'gnomon.{name}' and {name!r} in sys.modules"
    subprocess.run([sys.executable, "-c", asks], check=True)


def test_other_names_are_not_imported():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gnomon.nothing


def test_a_circle_is_found():
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert circle({"a": ["b", "c"], "b": ["c"], "c": []}) == []
