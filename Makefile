# Two commands matter: `make run` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: help run test check results screenshots docs bench-wire fuzz clean

help:
	@echo "make run      set up and run the MNIST experiment in full"
	@echo "make test     set up with the development tools; lint, types and all tests"
	@echo "make check    the quick part of that: lint, types, fast tests"
	@echo "make results  run MNIST with three seeds again and rewrite docs/results and the README's table"
	@echo "make screenshots  run MNIST with two methods and take the README's picture of their report (needs chromium)"
	@echo "make docs     rewrite the list of settings in docs/settings.md"
	@echo "make bench-wire  size and time of the wire format, beside its bound and its peer"
	@echo "make fuzz     a million broken payloads against the decoder (about ten minutes)"
	@echo "make clean    remove .venv and caches"

run: $(VENV)/.installed
	$(BIN)/heteroselect run mnist

test: $(VENV)/.installed-dev lint
	$(BIN)/python -m pytest -n 2

check: $(VENV)/.installed-dev lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

.PHONY: lint
lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

results: $(VENV)/.installed
	$(BIN)/python studies/mnist_seeds.py

screenshots: $(VENV)/.installed
	$(BIN)/python studies/report_picture.py

docs: $(VENV)/.installed
	$(BIN)/python studies/settings_page.py

bench-wire: $(VENV)/.installed
	$(BIN)/python benchmarks/wire.py

fuzz: $(VENV)/.installed
	$(BIN)/python benchmarks/fuzz_wire.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "heteroselect needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
