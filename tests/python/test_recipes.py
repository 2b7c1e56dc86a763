"""The recipes in packaging/ for other people's package managers: what they say of the project is what the project says. Their builds are no test:
they need conda-forge, vcpkg or a base image."""

import json
import pathlib
import re
import shutil
import subprocess
import tomllib

import jsonschema
import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
READ = ["CMakeLists.txt", "CMakePresets.json", "LICENSE", "pyproject.toml", "cmake", "packaging", "scripts/dist"]
# A library as CMake is asked for it: its package of conda-forge, and its port of vcpkg. None: it has none there.
NAMES = {
    "libhwy": ("libhwy", "highway"),
    "libmd": (None, None),
    "libpcre2-8": ("pcre2", "pcre2"),
    "libutf8proc": ("libutf8proc", "utf8proc"),
    "SQLite3": ("libsqlite", "sqlite3"),
    "ZLIB": ("zlib", "zlib"),
    "nlohmann_json": ("nlohmann_json", "nlohmann-json"),
    "tomlplusplus": ("tomlplusplus", "tomlplusplus"),
    "Eigen3": ("eigen", "eigen3"),
    "CLI11": ("cli11", "cli11"),
    "fmt": ("fmt", "fmt"),
}
# What of https://learn.microsoft.com/vcpkg/reference/vcpkg-json a port of one library uses.
IDENTIFIER = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "not": {"pattern": "^(prn|aux|nul|con|default|core|(lpt|com)[1-9])$"}}
DEPENDENCY = {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {"name": IDENTIFIER, "host": {"type": "boolean"}}}
PORT = {"type": "object", "required": ["name", "version", "description", "license", "supports", "dependencies"], "additionalProperties": False,
        "properties": {"name": IDENTIFIER, "version": {"type": "string", "pattern": r"^\d+(\.\d+)*$"}, "description": {"type": "string"},
                       "license": {"type": "string"}, "supports": {"enum": ["linux"]},
                       "dependencies": {"type": "array", "items": {"anyOf": [IDENTIFIER, DEPENDENCY]}}}}


class Project:
    """What a tree says of itself, and what its recipes say."""

    def __init__(self, root, scratch):
        self.root, self.scratch = root, scratch
        self.cmake = (root / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(gnomon VERSION ([0-9.]+)", self.cmake)[1]
        self.python = tomllib.loads((root / "pyproject.toml").read_text())
        self.bundled = tomllib.loads((root / "packaging" / "dependencies.toml").read_text())
        self.conda = yaml.safe_load((root / "packaging" / "conda" / "recipe.yaml").read_text())
        self.port = json.loads((root / "packaging" / "vcpkg" / "vcpkg.json").read_text())
        self.image = (root / "packaging" / "docker" / "Dockerfile").read_text()
        self.outputs = {output["package"]["name"]: output for output in self.conda["outputs"]}
        self.script = "\n".join(self.outputs["libgnomon"]["build"]["script"])

    def run(self, lines, *words):
        """What a script of CMake prints, a line each."""
        path = self.scratch / "script.cmake"
        path.write_text(lines)
        return subprocess.run(["cmake", *words, "-P", path], check=True, capture_output=True, text=True).stderr.splitlines()

    def libraries(self, settings):
        """{name: version or ""} of what the build asks for under these settings: GnomonDependencies.cmake runs, and only says so."""
        asked = self.run('macro(find_package name)\n  message("${name} ${ARGV1}")\nendmacro()\n'
                         'macro(pkg_check_modules prefix)\n  message("${ARGV3}")\nendmacro()\n'
                         f"include({self.root}/cmake/GnomonDependencies.cmake)\n", *(f"-D{name}={value}" for name, value in settings.items()))
        found = {name: version for name, version in (re.fullmatch(r"(\S+) ?([0-9.]*).*", line).groups() for line in asked)}
        del found["PkgConfig"]
        return found

    def configured(self):
        """The settings that portfile.cmake gives to CMake, and the folder: it runs with what vcpkg defines for it, which does nothing."""
        words = self.run(f"set(CURRENT_PORT_DIR {self.root}/packaging/vcpkg)\nset(PORT gnomon)\nset(CURRENT_PACKAGES_DIR {self.scratch}/packages)\n"
                         + "".join(f"function(vcpkg_{name})\nendfunction()\n" for name in
                                   ["check_linkage", "find_acquire_program", "cmake_install", "cmake_config_fixup", "fixup_pkgconfig",
                                    "install_copyright"])
                         + 'function(vcpkg_cmake_configure)\n  foreach(word IN LISTS ARGV)\n    message("${word}")\n  endforeach()\nendfunction()\n'
                         f"include({self.root}/packaging/vcpkg/portfile.cmake)\n")
        return dict(re.findall(r"^-D(GNOMON_\w+)=(\w+)$", "\n".join(words), re.M)), words[words.index("SOURCE_PATH") + 1]


def versions(project):
    """All name the version of CMakeLists.txt."""
    for what, said in [("recipe.yaml", project.conda["context"]["version"]), ("vcpkg.json", project.port["version"]),
                       ("Dockerfile", re.search(r"^ARG VERSION=(.*)$", project.image, re.M)[1])]:
        if said != project.version:
            yield f"{what} has version {said}"


def settings(project):
    """Each setting exists and has that value; what the Python package leaves out is left out everywhere."""
    known = dict.fromkeys(re.findall(r"^option\((\w+)", project.cmake, re.M), ["ON", "OFF"])
    known |= {name: values.split() for name, values in re.findall(r"^set_property\(CACHE (\w+) PROPERTY STRINGS ([A-Z ]+)\)", project.cmake, re.M)}
    in_conda = dict(re.findall(r"-D (GNOMON_\w+)=(\w+)", project.script))
    in_vcpkg, folder = project.configured()
    for name, value in [*in_conda.items(), *in_vcpkg.items()]:
        if value not in known.get(name, []):
            yield f"{name}={value} is no setting"
    for name in ["GNOMON_OPENMP", "GNOMON_ONEDNN", "GNOMON_DOWNLOAD"]:
        used = [in_conda] + [in_vcpkg] * (name != "GNOMON_DOWNLOAD")  # which only the program knows
        if any(given.get(name) != project.python["tool"]["scikit-build"]["cmake"]["define"][name] for given in used):
            yield f"{name} is another than in the Python package"
    presets = {preset["name"] for preset in json.loads((project.root / "CMakePresets.json").read_text())["configurePresets"]}
    if not set(re.findall(r"--preset (\w+)", project.script)) <= presets:
        yield "a preset does not exist"
    if pathlib.Path(folder) != project.root.resolve():
        yield f"portfile.cmake builds {folder}"


def libraries(project):
    """What CMake looks for is what is asked of conda-forge and of vcpkg, or has its archive."""
    wanted = project.libraries({"GNOMON_LAB": "ON", "GNOMON_CLI": "ON"})
    expected = {f"{NAMES[name][0]} {version}.*" if version else NAMES[name][0] for name, version in wanted.items() if NAMES[name][0]}
    pythonic = re.compile("pip$|python|nanobind |scikit-build-core ")  # package() looks at them
    for output in ["libgnomon", "gnomon"]:
        if (asked := {name for name in project.outputs[output]["requirements"]["host"] if not pythonic.match(name)}) != expected:
            yield f"{output} differs in {sorted(asked ^ expected)}"
    archives = {source["target_directory"] for source in project.conda["source"] if "url" in source}
    if archives != {name for name in wanted if not NAMES[name][0]}:
        yield f"the archives are {sorted(archives)}"
    ports = {name for name in project.port["dependencies"] if isinstance(name, str)}
    if ports != {NAMES[name][1] for name in project.libraries({"GNOMON_LAB": "OFF", "GNOMON_CLI": "OFF"} | project.configured()[0])}:
        yield f"the ports are {sorted(ports)}"


def archives(project):
    """An archive that is linked in is the pinned one, and its licence is told."""
    rows = {source["target_directory"]: source for source in project.conda["source"] if "url" in source}
    for name, source in rows.items():
        if (source["url"], source["sha256"]) != (project.bundled[name]["url"], project.bundled[name]["sha256"]):
            yield f"{name} is another archive"
    own = project.python["project"]["license"]
    if project.conda["about"]["license"] != " AND ".join([own, *(project.bundled[name]["licence"] for name in rows)]):
        yield "recipe.yaml has another licence"
    if project.conda["about"]["license_file"] != ["LICENSE", *(f"{name}/{text}" for name in rows for text in project.bundled[name]["texts"])]:
        yield "recipe.yaml has other texts of licences"
    if project.port["license"] != own:
        yield "vcpkg.json has another licence"


def package(project):
    """The Python package: what pyproject.toml asks for, the stable interface from its first Python on, no second program of that name."""
    output, python = project.outputs["gnomon"], project.python
    words = {word.replace(">=", " >=") for word in [*python["project"]["dependencies"], *python["build-system"]["requires"]]}
    if not words <= {*output["requirements"]["run"], *output["requirements"]["host"]}:
        yield "a requirement of pyproject.toml is missing"
    first = re.sub(r"cp3(\d+)", r"3.\1.*", python["tool"]["scikit-build"]["wheel"]["py-api"])
    if not {f"python {first}", f"python-abi3 {first}"} <= set(output["requirements"]["host"]) or not output["build"]["python"]["version_independent"]:
        yield "it is for one Python alone"
    if output["build"]["files"]["exclude"] != [f"bin/{name}" for name in python["project"]["scripts"]]:
        yield "two packages have one program"


def form(project):
    """vcpkg.json is as vcpkg documents it."""
    yield from (f"vcpkg.json: {error.message}" for error in jsonschema.Draft202012Validator(PORT).iter_errors(project.port))


def image(project):
    """The image takes the package that scripts/dist makes, and does not run as root."""
    name = re.search(r"/dist/(gnomon.+\.deb)\"", project.image.rsplit("\nFROM ", 1)[1])[1]
    name = name.replace("$(dpkg --print-architecture)", "{debian}").replace("${VERSION}", "{VERSION}")
    if f'f"{name}"' not in (project.root / "scripts" / "dist").read_text():
        yield f"scripts/dist makes no {name}"
    last = project.image.rsplit("\nFROM ", 1)[1]
    if not re.search(r"^USER (?!root|0)\w+\n(?:.*\n)*ENTRYPOINT", last, re.M):
        yield "the image runs as root"


def faults(root, scratch):
    project = Project(root, scratch)
    return [fault for look in (versions, settings, libraries, archives, package, form, image) for fault in look(project)]


def test_recipes_say_of_the_project_what_it_says_of_itself(tmp_path):
    assert faults(ROOT, tmp_path) == []


@pytest.mark.parametrize("path, was, becomes, fault", [
    ("CMakeLists.txt", "gnomon VERSION 0.1.0", "gnomon VERSION 0.1.1", "recipe.yaml has version 0.1.0"),
    ("packaging/vcpkg/vcpkg.json", '"0.1.0"', '"0.1.1"', "vcpkg.json has version 0.1.1"),
    ("packaging/docker/Dockerfile", "VERSION=0.1.0", "VERSION=0.1.1", "Dockerfile has version 0.1.1"),
    ("packaging/vcpkg/portfile.cmake", "GNOMON_CLI", "GNOMON_PROGRAM", "GNOMON_PROGRAM=OFF is no setting"),
    ("packaging/conda/recipe.yaml", "GNOMON_ONEDNN=OFF", "GNOMON_ONEDNN=NO", "GNOMON_ONEDNN=NO is no setting"),
    ("packaging/conda/recipe.yaml", "-D GNOMON_DOWNLOAD=OFF", "", "GNOMON_DOWNLOAD is another than in the Python package"),
    ("packaging/conda/recipe.yaml", "--preset release", "--preset conda", "a preset does not exist"),
    ("packaging/vcpkg/portfile.cmake", "/../..", "/..", "portfile.cmake builds .*/packaging"),
    ("packaging/vcpkg/portfile.cmake", "-DGNOMON_LAB=OFF", "-DGNOMON_LAB=ON", r"the ports are \['highway'\]"),
    ("packaging/conda/recipe.yaml", "- zlib", "- zlib-ng", r"libgnomon differs in \['zlib', 'zlib-ng'\]"),
    ("cmake/GnomonDependencies.cmake", "find_package(ZLIB REQUIRED)", "", r"gnomon differs in \['zlib'\]"),
    ("packaging/conda/recipe.yaml", "target_directory: libmd", "target_directory: zlib", r"the archives are \['zlib'\]"),
    ("packaging/conda/recipe.yaml", "sha256: f5", "sha256: f4", "libmd is another archive"),
    ("packaging/dependencies.toml", "BSD-3-Clause AND LicenseRef-public-domain", "BSD-2-Clause", "recipe.yaml has another licence"),
    ("packaging/conda/recipe.yaml", ", libmd/COPYING", "", "recipe.yaml has other texts of licences"),
    ("packaging/vcpkg/vcpkg.json", "Apache-2.0", "MIT", "vcpkg.json has another licence"),
    ("pyproject.toml", "numpy>=1.26", "numpy>=2", "a requirement of pyproject.toml is missing"),
    ("pyproject.toml", "cp312", "cp313", "it is for one Python alone"),
    ("packaging/conda/recipe.yaml", "exclude: [bin/gnomon]", "exclude: []", "two packages have one program"),
    ("packaging/vcpkg/vcpkg.json", '"highway"', '"Highway"', "vcpkg.json: 'Highway' is not valid"),
    ("packaging/docker/Dockerfile", "/dist/gnomon_", "/dist/gnomon-", "scripts/dist makes no gnomon-"),
    ("packaging/docker/Dockerfile", "USER gnomon", "USER root", "the image runs as root"),
])
def test_a_recipe_that_says_something_else_is_told(path, was, becomes, fault, tmp_path):
    root = tmp_path / "root"
    for name in READ:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile)(ROOT / name, root / name)
    text = (root / path).read_text()
    assert was in text
    (root / path).write_text(text.replace(was, becomes))
    assert any(re.match(fault, found) for found in faults(root, tmp_path))
