# Two commands matter: `make run` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := .venv-peers
FILES  := packages/heteroselect-mnist packages/heteroselect-phones
DATA   := $(FILES:%=-e %)
PINS   := pyproject.toml $(FILES:%=%/pyproject.toml) constraints.txt

# compiled tests and modules are kept: each worker, and each process that a test starts, takes seconds without
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run test test-network sim-to-real flower check studies results compare first notebook cross tune lean theory screenshots worlds docs site bench bench-wire bench-peers bench-flower fuzz kills hostile privacy clean

help:
	@echo "make run      set up and run the MNIST experiment in full"
	@echo "make test     set up with the development tools; lint, types and all tests"
	@echo "make flower   set up with Flower and run MNIST on a SuperLink and three SuperNodes with TLS"
	@echo "make test-network  Flower between network namespaces: measured links, and the commands of docs/flower.md (needs root and iproute2)"
	@echo "make sim-to-real  Flower's rounds over shaped links beside the seconds of the clock (root and iproute2, too; about 20 minutes)"
	@echo "make check    the quick part of that: lint, types, fast tests"
	@echo "make studies  run the MNIST studies and the theory, draw the paper's figures, then make results;"
	@echo "              LOGS=DIR draws the authors' logs in that folder beside ours"
	@echo "make results  rewrite docs/results.md, the tables of docs/choose.md and the README's blocks from what the studies left"
	@echo "make compare  play ten methods with five seeds each under one clock and rewrite docs/results/compare (50 runs)"
	@echo "make first    run the comparison on the README's first screen and keep its table and picture (12 runs, two minutes)"
	@echo "make notebook run examples/first_steps.ipynb and keep its outputs in it"
	@echo "make cross    play five selectors with five compressors, five seeds each, and rewrite docs/results/cross (125 runs)"
	@echo "make tune     tune the methods of make compare with 12 trials each, then compare them tuned, and rewrite docs/results/tuned (at most 13,500 rounds of trials)"
	@echo "make lean     CIFAR-10 with our own method, with and without the paper's score, into docs/results/lean (an hour or more)"
	@echo "make hostile  a share of hostile clients against five ways to aggregate on MNIST, into docs/reliability.md (336 runs)"
	@echo "make theory   measure the paper's two theorems along MNIST runs and rewrite studies/theory.json and its figures (5 minutes)"
	@echo "make screenshots  take the README's picture of that comparison's page (needs chromium)"
	@echo "make worlds   draw the pictures of docs/worlds.md"
	@echo "make docs     rewrite the list of settings in docs/settings.md and of parts in docs/parts.md"
	@echo "make site     build the documentation site into docs/_site (Sphinx; warnings are errors)"
	@echo "make privacy  rewrite the table of docs/privacy.md: what noise promises, for each preset"
	@echo "make bench    speed, memory and growth beside their limits, kept in benchmarks/results"
	@echo "make bench-wire  size and time of the wire format, beside its bound and its peer; the coders' errors at equal bytes"
	@echo "make bench-peers  one FedAvg job here and on Flower, pfl and FedLab, in a .venv-peers of their own"
	@echo "make bench-flower  what a run costs in the simulator, on Flower's simulation and deployed with TLS"
	@echo "make fuzz     a million broken payloads of every codec against the decoder, kept in benchmarks/results (about ten minutes)"
	@echo "make kills    an hour (MINUTES=60) of runs that are killed at random, on full disks and with flipped bits, kept there too"
	@echo "make clean    remove .venv and caches"

run: $(VENV)/.installed
	$(BIN)/heteroselect run mnist

test: $(VENV)/.installed-dev lint
	# four workers on two cores: much of the time is waiting for processes; and threads that wait do not spin
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 4 --dist worksteal --durations 15

check: $(VENV)/.installed-dev
	$(MAKE) -j2 lint fast  # mypy has one process, which a first check keeps busy for half a minute

.PHONY: fast
fast: $(VENV)/.installed-dev
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest tests src/heteroselect/round/method.py -n 2 --dist worksteal -m "not slow"

flower: $(VENV)/.installed-flower
	$(BIN)/heteroselect flower deploy mnist --nodes 3 --tls --rounds 3

test-network: $(VENV)/.installed-dev
	HETEROSELECT_NETWORK=1 $(BIN)/python -m pytest -m network -s

sim-to-real: $(VENV)/.installed-flower
	$(BIN)/python studies/sim_to_real.py

.PHONY: lint
lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

results: $(VENV)/.installed
	$(BIN)/python studies/first_row.py
	$(BIN)/python studies/goals.py
	$(BIN)/python studies/ladder.py
	$(BIN)/python studies/frontier.py
	$(BIN)/python studies/results_page.py
	$(BIN)/python studies/choose.py

STUDIES := table1-mnist beyond-mnist beyond-stress table2 mu psi stress waiting
studies: $(VENV)/.installed
	for name in $(STUDIES); do $(BIN)/heteroselect study studies/$$name.toml --results studies/results.json || exit; done
	$(BIN)/python studies/waiting.py
	$(BIN)/python studies/theory.py
	$(BIN)/python studies/paper_figures.py $(if $(LOGS),--logs $(LOGS))
	$(MAKE) results

compare: $(VENV)/.installed
	$(BIN)/python studies/compare_methods.py
	$(MAKE) results

first: $(VENV)/.installed
	$(BIN)/python studies/first_screen.py
	$(MAKE) results

notebook: $(VENV)/.installed-dev
	$(BIN)/python studies/notebook.py

cross: $(VENV)/.installed
	$(BIN)/python studies/cross_methods.py
	$(MAKE) results

tune: $(VENV)/.installed
	$(BIN)/python studies/tune_methods.py
	$(MAKE) results

lean: $(VENV)/.installed
	$(BIN)/python studies/lean.py

hostile: $(VENV)/.installed
	for name in hostile lies; do $(BIN)/heteroselect study studies/$$name.toml || exit; done
	$(BIN)/python studies/hostile.py --runs runs

theory: $(VENV)/.installed
	$(BIN)/python studies/theory.py

worlds: $(VENV)/.installed
	$(BIN)/python studies/worlds.py

screenshots: $(VENV)/.installed
	$(BIN)/python studies/report_picture.py

docs: $(VENV)/.installed
	$(BIN)/python studies/settings_page.py
	$(BIN)/python studies/parts_page.py

site: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_site
	@echo docs/_site/index.html

privacy: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(DATA) -e '.[report,privacy]'
	$(BIN)/python studies/privacy_page.py

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py

bench-wire: $(VENV)/.installed
	$(BIN)/python benchmarks/wire.py

bench-peers: $(PEERS)/.installed
	PYTHONPATH=benchmarks $(PEERS)/bin/python -W ignore -m peers.run

bench-flower: $(VENV)/.installed-flower
	$(BIN)/python benchmarks/flower.py

fuzz: $(VENV)/.installed
	$(BIN)/python benchmarks/fuzz_wire.py

MINUTES ?= 60
kills: $(VENV)/.installed
	$(BIN)/python benchmarks/random_kills.py --minutes $(MINUTES)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "heteroselect needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(PINS) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(DATA) -e '.[report]'
	@touch $@

$(VENV)/.installed-dev: $(PINS) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(DATA) -e '.[dev,docs,flower,hf,images,mlflow,privacy,report,tensorboard,wandb]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-flower $(VENV)/.installed-docs

$(VENV)/.installed-flower: $(PINS) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(DATA) -e '.[flower,report]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

# A peer that cannot be installed is left out, and the table says so.
$(PEERS)/.installed: $(PINS) benchmarks/peers/constraints.txt
	$(PYTHON) -m venv $(PEERS)
	@# the peers' pins, and ours of all packages that they do not pin
	@awk -F'==' 'NR==FNR {pinned[tolower($$1)]=1; print; next} !(tolower($$1) in pinned)' \
	  benchmarks/peers/constraints.txt constraints.txt > $(PEERS)/constraints.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PEERS)/constraints.txt $(DATA) -e .
	@for peer in 'flwr[simulation]' pfl fedlab; do \
	  $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PEERS)/constraints.txt "$$peer" || \
	    echo "$$peer could not be installed; going on without it" >&2; \
	done
	@touch $@

clean:
	rm -rf $(VENV) $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
