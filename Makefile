PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# What make test-oldest runs, and with which PyTorch: constraints-oldest.txt says why it is not always the oldest.
OLDEST := .venv-oldest/bin/python
TORCH ?= $(shell sed -n 's/^torch==//p' constraints.txt)
OLDEST_TESTS ?= tests/solver tests/path tests/storage tests/files/test_files.py tests/estimators/test_estimators.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest browser-test fuzz lint audit dependencies build check-build bench docs reproduce clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The build backend is installed first, so that its version is pinned too: constraints do not reach an isolated build.
# setuptools builds autograd-gamma, which lifelines needs and which has no wheel; that of an older Python cannot.
.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) hatchling editables setuptools
	$(PIP) --no-build-isolation --editable '.[all,test,lint]'
	@touch $@

.venv/.docs: .venv/.installed
	$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@

.venv/.audit: .venv/.installed
	$(PIP) --no-build-isolation --editable '.[audit]'
	@touch $@

# The wheel with its dependencies, as a user installs them.
.venv-oldest/.torch-$(TORCH): pyproject.toml constraints-oldest.txt | build
	rm -rf .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	$(OLDEST) -m pip install --quiet --constraint constraints-oldest.txt 'torch==$(TORCH)' \
		"$$(echo dist/*.whl)[polars,excel]" pytest pytest-xdist hypothesis
	@touch $@

.venv/.browser: .venv/.installed
	$(PIP) --no-build-isolation --editable '.[browser]'
	@touch $@

.venv/.fuzz: .venv/.installed
	$(PIP) --no-build-isolation --editable '.[fuzz]'
	@touch $@

.venv/.bench: .venv/.installed
	$(PIP) --no-build-isolation --editable '.[bench]'
	@touch $@

.venv/.experiments: .venv/.installed
	$(PIP) --no-build-isolation --editable '.[experiments]'
	@touch $@

demo: .venv/.installed  ## select features on a data set that ships with scikit-learn; writes demo/
	$(BIN)/riata demo --out demo

test: .venv/.installed  ## run the tests and the examples in docstrings
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

test-oldest: .venv-oldest/.torch-$(TORCH)  ## test the wheel with the oldest supported versions of its dependencies
	$(OLDEST) -m pip install --quiet --no-deps --force-reinstall dist/*.whl
	$(OLDEST) -m pip check
	OMP_NUM_THREADS=1 $(OLDEST) -m pytest -n 2 --dist loadgroup $(OLDEST_TESTS)

browser-test: .venv/.browser  ## open reports in Chromium, which has to be installed
	RIATA_BROWSER=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser

fuzz: .venv/.fuzz  ## fuzz the readers of files, 10 minutes each; make fuzz SECONDS=60 for less
	for target in models tables; do OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $$target --seconds $(or $(SECONDS),600) || exit 1; done

lint: .venv/.installed  ## formatting, lint, types, order of layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: .venv/.audit  ## licences of all dependencies, versions that fit together, known vulnerabilities
	$(BIN)/python -m pip check
	$(BIN)/python -m release.dependencies --check
	$(BIN)/python -m release.vulnerabilities

dependencies: .venv/.installed  ## write docs/dependencies.md, the list of dependencies and licences
	$(BIN)/python -m release.dependencies

build: .venv/.installed  ## the wheel and the source archive, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

check-build: .venv/.installed  ## build twice, look into what was built, install the wheel and run it
	$(BIN)/python -m release.check_build

bench: .venv/.bench  ## time against lassonet and the machine; make bench BENCH=--quick takes minutes
	$(BIN)/python -m benchmarks $(BENCH)

docs: .venv/.docs  ## the documentation, in build/docs; warnings are errors
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet --jobs 2 docs build/docs
	@echo "documentation: build/docs/index.html"

reproduce: .venv/.experiments  ## the paper's tables and figures: hours; make reproduce QUICK=1 takes minutes
	$(BIN)/python -m experiments all $(if $(QUICK),--quick --jobs 2) $(EXPERIMENTS)

clean:  ## remove the environment, caches and what make wrote
	rm -rf docs/api docs/auto_examples docs/project
	rm -rf .venv .venv-oldest build dist demo benchmarks/results .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} +
