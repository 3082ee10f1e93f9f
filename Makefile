# Everything a checkout needs. `make bench` and `make test` set up what they use in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
C_SOURCES := $(wildcard scopes/csrc/*.[ch] stress/csrc/*.[ch]) setup.py pyproject.toml

.PHONY: bench test lint c-checks reference traces build clean

bench: $(VENV)/installed
	$(BIN)/python -m suites.scope_close --quick

test: $(VENV)/tested
	$(BIN)/python -m pytest -q

lint: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

c-checks: $(VENV)/tested
	bash .ci/c-checks

reference: $(VENV)/developed
	$(BIN)/python benchmarks/reference.py

traces: $(VENV)/developed
	$(BIN)/python benchmarks/traces.py

build: $(VENV)/installed

# The extensions are built in place, again whenever a C file changes.
$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/installed: $(VENV)/python $(C_SOURCES)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/developed: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf build dist *.egg-info $(VENV)
	find . -name '*.so' -not -path './$(VENV)/*' -delete
