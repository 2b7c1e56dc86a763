"""scripts/dist and packaging/: what a release is made of. The builds themselves are `make dist`, which is no test: it compiles all for each processor."""

import fnmatch
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
loader = importlib.machinery.SourceFileLoader("dist", str(ROOT / "scripts" / "dist"))
dist = importlib.util.module_from_spec(importlib.util.spec_from_loader("dist", loader))
loader.exec_module(dist)


def test_each_dependency_is_pinned_and_compiled():
    cmake = (ROOT / "cmake" / "GnomonDependencies.cmake").read_text()
    for name, dependency in dist.DEPENDENCIES.items():
        assert re.fullmatch("[0-9a-f]{64}", dependency["sha256"]), name
        assert dependency["version"] and dependency["licence"] and dependency["texts"], name
        assert re.search(rf"^ *gnomon_bundle(?:_headers)?\([^)]*\s{re.escape(name)}[/\s)]", cmake, re.M), f"{name} is fetched and not compiled"


def uncovered(dependencies):
    """What cmake compiles or includes of a dependency and its list of files does not have."""
    cmake = (ROOT / "cmake" / "GnomonDependencies.cmake").read_text()
    parts = re.search(r"foreach\(part ([^)]*)\)", cmake)[1].split()
    compiled = {folder: [] for folder in dependencies}
    for folder, patterns in re.findall(r"gnomon_bundle\(\w+ \S+ (\S+) ([^)]*)\)", cmake):
        if folder in dependencies:
            compiled[folder] += [f"src/pcre2_{part}.c" for part in parts] if patterns == "${parts}" else patterns.split()
    for folder, path in re.findall(r"\$\{GNOMON_BUNDLED\}/([\w-]+)/([\w./+-]+\.\w+)", cmake):
        compiled[folder].append(path)
    return {(folder, path) for folder, paths in compiled.items() for path in paths
            if not any(fnmatch.fnmatchcase(path, pattern) for pattern in dependencies[folder]["files"])}


def test_the_sources_of_a_release_have_all_that_is_compiled():
    assert uncovered(dist.INSIDE) == set()
    assert uncovered(dist.INSIDE | {"fmt": {"files": ["src/os.cc"]}}) == {("fmt", "src/format.cc")}
    assert ("pcre2", "src/config.h.generic") in uncovered(dist.INSIDE | {"pcre2": {"files": ["src/*.c"]}})


def test_the_sources_of_a_release_say_what_is_beside_them(monkeypatch):
    monkeypatch.setattr(dist, "PUBLISHER", {"name": 'A "B"', "mail": "a@b.example", "home": "https://b.example"})
    project = tomllib.loads(dist.bundling((ROOT / "pyproject.toml").read_text()))
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())
    define = project["tool"]["scikit-build"]["cmake"]["define"]
    assert define == own["tool"]["scikit-build"]["cmake"]["define"] | {"GNOMON_BUNDLED": "bundled", "BUILD_SHARED_LIBS": "OFF"}
    assert project["project"]["authors"] == [{"name": 'A "B"', "email": "a@b.example"}] and project["project"]["urls"] == {"Homepage": "https://b.example"}
    assert set(project["project"]["license-files"]) == {"LICENSE"} | {f"bundled/{n}/{text}" for n, d in dist.INSIDE.items() for text in d["texts"]}


RELATIVE = re.compile(r"\]\((?!https?://|#)")


def test_the_description_of_the_package_leads_nowhere_wrong(monkeypatch):
    """On PyPI there is no folder beside README.md."""
    page = (ROOT / "README.md").read_text()
    assert RELATIVE.search(page) and "](docs/report.png)" in page
    monkeypatch.setattr(dist, "PUBLISHER", {"name": "A", "mail": "a@b.example", "home": "", "files": "", "pictures": ""})
    bare = dist.readme(page)
    assert not RELATIVE.search(bare) and "report.png" not in bare and "The essay takes five minutes" in bare
    assert dist.published(f"Author: A\nName: gnomon\n\n{page}").endswith(f"Name: gnomon\n\n{bare}")
    monkeypatch.setattr(dist, "PUBLISHER", dist.PUBLISHER | {"files": "https://b.example/blob/v1/", "pictures": "https://b.example/raw/v1"})
    linked = dist.readme(page)
    assert not RELATIVE.search(linked) and "](https://b.example/raw/v1/docs/report.png)" in linked
    assert "[The essay](https://b.example/blob/v1/docs/why-add.md) takes five minutes" in linked
    kept = "[a](https://c.example), [b](#b)\n\n```c\na[i](x);\n```\n"
    assert dist.readme(kept) == kept


def test_only_what_is_listed_goes_along(tmp_path, monkeypatch):
    monkeypatch.setattr(dist, "unpacked", lambda name: tmp_path / "sources" / name)
    monkeypatch.setattr(dist, "INSIDE", {"fmt": {"files": ["include/**/*.h"], "texts": ["LICENSE.rst"]}})
    for path in ["include/fmt/core.h", "include/fmt/core.txt", "test/core.h", "LICENSE.rst"]:
        (tmp_path / "sources" / "fmt" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sources" / "fmt" / path).write_text(path)
    dist.sources_along(tmp_path / "bundled")
    assert {str(path.relative_to(tmp_path / "bundled")) for path in (tmp_path / "bundled").rglob("*") if path.is_file()} == {"fmt/include/fmt/core.h", "fmt/LICENSE.rst"}


def test_each_python_is_pinned():
    for name, python in dist.PYTHONS.items():
        assert name == "cp" + "".join(python["version"].split(".")[:2]) + "t" * ("--disable-gil" in python["configure"])
        assert re.fullmatch("[0-9a-f]{64}", python["sha256"]) and python["url"].endswith(f"_{python['version']}.orig.tar.xz")


def test_a_release_links_the_same_libraries_as_a_build_on_debian():
    """What is linked by name is defined by the bundle, too."""
    bundled = set(re.findall(r"\b[A-Za-z0-9_]+::[A-Za-z0-9]+\b", (ROOT / "cmake" / "GnomonDependencies.cmake").read_text().split("enable_language(C)")[1]))
    links = re.findall(r"target_link_libraries\((?:.|\n)*?\)", (ROOT / "CMakeLists.txt").read_text())
    linked = {name for link in links for name in re.findall(r"\b[A-Za-z0-9_]+::[A-Za-z0-9]+\b", link)}
    assert len(linked) > 8 and linked - bundled <= {"Threads::Threads", "OpenMP::OpenMP", "MPI::MPI"}


def test_another_archive_than_the_pinned_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(dist, "DIST", tmp_path)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / dist.DEPENDENCIES["libmd"]["url"].rsplit("/", 1)[1]).write_bytes(b"other")
    with pytest.raises(SystemExit, match="packaging has " + dist.DEPENDENCIES["libmd"]["sha256"]):
        dist.unpacked("libmd")


def test_an_archive_does_not_tell_when_or_by_whom_it_was_made(tmp_path):
    found = []
    for time, umask, names in [(10**9, 0o022, ["b", "a"]), (10**9 + 7, 0o077, ["a", "b"])]:
        folder = tmp_path / str(time) / "gnomon-1"
        old = os.umask(umask)
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text(name)
        (folder / "a").chmod(0o755)
        os.umask(old)
        os.utime(folder / "a", (time, time))
        dist.packed(folder, tmp_path / f"{time}.tar.xz")
        found.append((tmp_path / f"{time}.tar.xz").read_bytes())
    assert found[0] == found[1]
    (folder / "a").write_text("other")
    dist.packed(folder, tmp_path / "other.tar.xz")
    assert (tmp_path / "other.tar.xz").read_bytes() != found[0]


def test_the_bill_of_materials_names_all_that_is_linked_in():
    bill = json.loads(dist.bill_of_materials("gnomon-1", "22.1.8", dist.RUNTIME))
    packages = {p["name"]: p for p in bill["packages"]}
    assert set(packages) == {"gnomon", "libc++", "libunwind"} | set(dist.INSIDE)
    assert set(dist.DEPENDENCIES) - set(dist.INSIDE) == {"googletest"}
    assert packages["zlib"]["checksums"][0]["checksumValue"] == dist.DEPENDENCIES["zlib"]["sha256"]
    ids = {p["SPDXID"] for p in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    assert len(ids) == len(packages) + 1 and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i) for i in ids)
    assert all({r["spdxElementId"], r["relatedSpdxElement"]} <= ids for r in bill["relationships"])


def test_the_package_of_debian_is_the_same_twice_and_names_its_processor(tmp_path, monkeypatch):
    monkeypatch.setattr(dist, "DIST", tmp_path)
    folder = tmp_path / "gnomon-1"
    for path in ["bin/gnomon", "include/gnomon.h", "lib/libgnomon.so.1", "share/man/man1/gnomon.1", "share/zsh/site-functions/_gnomon", "licences/zlib/LICENSE",
                 "gnomon.spdx.json"]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    (folder / "lib" / "pkgconfig").mkdir()
    (folder / "lib" / "pkgconfig" / "gnomon.pc").write_text("prefix=${pcfiledir}/../..\nlibdir=${prefix}/lib\n")
    found = []
    for umask in (0o022, 0o077):
        old = os.umask(umask)
        dist.debian_package(folder, "aarch64")
        os.umask(old)
        found.append((tmp_path / f"gnomon_{dist.VERSION}_arm64.deb").read_bytes())
    assert found[0] == found[1]
    listed = dist.run("dpkg-deb", "--contents", tmp_path / f"gnomon_{dist.VERSION}_arm64.deb")
    assert re.search(r"-rwxr-xr-x root/root .* \./usr/bin/gnomon$", listed, re.M)
    assert re.search(r"-rw-r--r-- root/root .* \./usr/lib/aarch64-linux-gnu/libgnomon\.so\.1$", listed, re.M)
    assert "Architecture: arm64\n" in dist.run("dpkg-deb", "--info", tmp_path / f"gnomon_{dist.VERSION}_arm64.deb").replace("\n ", "\n")
    dist.run("dpkg-deb", "--extract", tmp_path / f"gnomon_{dist.VERSION}_arm64.deb", tmp_path / "opened")
    usr = tmp_path / "opened" / "usr"
    assert "prefix=/usr\nlibdir=${prefix}/lib/aarch64-linux-gnu\n" == (usr / "lib/aarch64-linux-gnu/pkgconfig/gnomon.pc").read_text()
    assert "licences/zlib/LICENSE" in (usr / "share/doc/gnomon/copyright").read_text()
    assert (usr / "share/man/man1/gnomon.1.gz").exists() and (usr / "share/zsh/vendor-completions/_gnomon").exists()


def test_the_package_says_who_publishes_it(monkeypatch):
    metadata = "Name: gnomon\nAuthor: gnomon contributors\nLicense-Expression: Apache-2.0\n\nAuthor: is a word of the description\n"
    assert 'authors = [{name = "gnomon contributors"}]' in (ROOT / "pyproject.toml").read_text()
    monkeypatch.setattr(dist, "PUBLISHER", {"name": "A", "mail": "a@b.example", "home": ""})
    assert dist.published(metadata).splitlines()[1:3] == ["Author-email: A <a@b.example>", "License-Expression: Apache-2.0"]
    monkeypatch.setattr(dist, "PUBLISHER", dist.PUBLISHER | {"home": "https://b.example"})
    assert dist.published(metadata).splitlines()[1:3] == ["Author-email: A <a@b.example>", "Project-URL: Homepage, https://b.example"]
    assert dist.published(metadata).endswith("Author: is a word of the description\n")


def test_programs_say_the_same_but_for_rounding():
    said = '{"spec": "rope", "inv_freq": [1.0, 0.00025562188907838636], "layers": 32}'
    assert dist.say_the_same(said, said.replace("8636]", "864]"))
    for was, becomes in [("rope", "yarn"), ("32", "33"), ("0.000255621889", "0.000255621888"), ("1.0, ", "")]:
        assert not dist.say_the_same(said, said.replace(was, becomes))


def test_a_program_of_another_processor_has_a_script_in_its_place(tmp_path, monkeypatch):
    emulator, program = tmp_path / "emulator", tmp_path / "program"
    emulator.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.write_text("of another processor")
    for path in (emulator, program):
        path.chmod(0o755)
    monkeypatch.setattr(dist, "emulated", lambda architecture: [] if architecture == "own" else [str(emulator), "-L", "/there"])
    dist.emulate(program, "own")
    assert program.read_text() == "of another processor"
    dist.emulate(program, "other")
    assert dist.run(program, "a b").splitlines() == ["-L", "/there", "-0", str(program), f"{program}.emulated", "a b"]
    assert (tmp_path / "program.emulated").read_text() == "of another processor"
