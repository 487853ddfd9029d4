# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo studio test set-up check format test-matrix docs image clean
.PHONY: native sanitize sanitizers try-sanitized

demo: $(VENV)/demo
	$(BIN)/shoal demo --out demo

# The studio in the browser; `make studio FILE=people.csv` opens a table.
studio: $(VENV)/runs
	$(BIN)/shoal studio $(FILE)

# Files in their own order: by their number of tests, the longest ones, which have few, would come last. Compiled code is
# kept, whatever the surroundings say: programs that tests start would else compile all of the package, each.
test: $(VENV)/tests
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# All that tests and checks need.
set-up: $(VENV)/checks

# All that is not a test of behaviour: format, lint, types, layers, documentation, sanitizers; two at a time.
check:
	$(MAKE) --jobs=2 --keep-going --output-sync=target sanitized types pages layers style image

.PHONY: compiled sanitized types pages layers style image
compiled: $(VENV)/kernels
	PATH="$(abspath $(BIN)):$$PATH" $(MAKE) sanitizers PYTHON=$(abspath $(BIN))/python
sanitized: compiled $(VENV)/checks
	PATH="$(abspath $(BIN)):$$PATH" $(MAKE) try-sanitized PYTHON=$(abspath $(BIN))/python
types pages layers style: $(VENV)/checks
types:
	$(BIN)/mypy
pages:
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
layers:
	$(BIN)/python -m pytest -q tests/test_layers.py
style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# The container, built and tried without a network where docker or podman can run one and has, or gets, its base.
BASE ?= python:3.12-slim-bookworm
image:
	@for runtime in docker podman; do \
	  if { $$runtime info && { $$runtime image inspect $(BASE) || $$runtime pull $(BASE); }; } >/dev/null 2>&1; then \
	    $$runtime build --build-arg BASE=$(BASE) --build-arg EPOCH=$$(git log -1 --format=%ct) -t shoal . && \
	    $$runtime run --rm --network none --read-only --tmpfs /tmp --tmpfs /data shoal demo --out /data/demo; \
	    exit $$?; \
	  fi; \
	done; echo "No container runtime with the image $(BASE) is here: ours was not built."

format: $(VENV)/tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The suite in other surroundings: oldest and newest dependencies, Pythons, processors' kernels, threads, order, user,
# place, locale. `make test-matrix PART=oldest` runs one, `PART=today` the one whose turn it is.
PART ?= all
test-matrix: $(BIN)/python
	$(BIN)/python tests/matrix.py $(PART)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

SOURCES := pyproject.toml CMakeLists.txt $(shell find native src -type f -not -name '*.so' -not -name '*.pyc')

# By the tools in the environment, which stay: a kernel is then compiled once, and again only when it has changed.
INSTALL = $(BIN)/python -m pip install --quiet --no-build-isolation

# What shoal stands on is fetched while the kernels are compiled. What the demo imports is compiled to bytecode then; all
# that is installed would take longer.
$(VENV)/demo: $(SOURCES) | $(VENV)/kernels
	$(MAKE) --jobs=2 dependencies package
	touch $@

.PHONY: dependencies package
dependencies:
	$(INSTALL) --no-compile $$($(BIN)/python -c '$(DESCRIBED); print(*described["project"]["dependencies"])')
package:
	$(INSTALL) --no-compile --no-deps .

$(VENV)/runs: $(SOURCES) | $(VENV)/kernels
	$(INSTALL) ".[all]"
	touch $(VENV)/demo $@

$(VENV)/tests: $(SOURCES) | $(VENV)/kernels
	$(INSTALL) ".[test]"
	touch $(VENV)/demo $(VENV)/runs $@

$(VENV)/checks: $(SOURCES) | $(VENV)/kernels
	$(INSTALL) ".[test,docs,kernels]"
	touch $(VENV)/demo $(VENV)/runs $(VENV)/tests $@

# What compiling alone needs, as pyproject.toml names it.
DESCRIBED := import tomllib; described = tomllib.load(open("pyproject.toml", "rb"))
TOOLS = $(DESCRIBED); print(*described["build-system"]["requires"], *described["project"]["optional-dependencies"]["kernels"])
$(VENV)/kernels: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --no-compile $$($(BIN)/python -c '$(TOOLS)')
	touch $@

# For development: build the kernels in place and write their stub; then run with PYTHONPATH=src and any interpreter
# that has the dependencies and nanobind.
native:
	cmake -S . -B build/dev -G Ninja -DSHOAL_UNITY=OFF -DSHOAL_IN_PLACE=$(abspath src/shoal) \
	  -DPython_EXECUTABLE=$(shell command -v $(PYTHON)) >/dev/null
	cmake --build build/dev
	$(PYTHON) -m nanobind.stubgen -q -D -i src/shoal/kernels -m _native -p native/stub.txt -o src/shoal/kernels/_native.pyi

# The kernels' tests under the address and undefined-behaviour sanitizers (GCC), in a copy of the package; needs what
# `make native` needs. `make sanitize TESTS=tests/kernels/search` runs some of them.
TESTS ?= tests/kernels
# ON compiles each file alone, as each night: each must include what it needs.
ALONE ?= OFF
sanitize: sanitizers
	$(MAKE) try-sanitized

try-sanitized:
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  PYTHONPATH=build/sanitized $(PYTHON) -m pytest -q $(TESTS) -k "not interrupt and not Ctrl"

sanitizers:
	rm -rf build/sanitized && mkdir -p build/sanitized
	cp -R src/shoal build/sanitized/ && rm -f build/sanitized/shoal/kernels/_native*.so
	cmake -S . -B build/sanitize -G Ninja -DSHOAL_IN_PLACE=$(abspath build/sanitized/shoal) -DSHOAL_SANITIZE=ON \
	  -DSHOAL_UNITY=$(if $(filter ON,$(ALONE)),OFF,ON) -DCMAKE_DISABLE_PRECOMPILE_HEADERS=$(ALONE) -DPython_EXECUTABLE=$(shell command -v $(PYTHON)) >/dev/null
	MAKEFLAGS= cmake --build build/sanitize

clean:
	rm -rf build $(VENV) src/shoal/kernels/*.so

docs: $(VENV)/kernels
	$(INSTALL) ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
