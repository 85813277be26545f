# make demo    derive, verify and simulate a nonholonomic system; results under out/
# make test    lint, then the whole test suite in parallel
# make check   what a change is tried with: lint of what changed, the quick tests of every room (tests/quick.txt); two minutes
# make lint    ruff, pyright, import-linter
# make test-extended  make test with more members of its theorems (tests/extended.txt)
# make fuzz-contact  a thousand bodies falling on floors, into corners and on each other
# make fuzz-store    a sweep with its files flipped, its calls failing, its process killed, its power cut; ten minutes
# make fuzz-friction 10,000 random mechanisms and falling bodies with friction: energy, cones, chatter
# make fuzz-api      a million hostile calls of the public API (COUNT=, START= to go on): only refusals, nothing executed
# make fuzz-files    20,000 damaged robots, meshes and motions (COUNT=, START=)
# make format  let ruff sort imports and fix what it can
# make bench   the benchmarks against other libraries
# make fuzz-stops   10,000 random stops against closed forms: none missed
# make fuzz-events  10,000 random flights, pulses and jumps on lanes, C and vm against closed forms: none missed
# make fuzz-models  a million hostile expressions and model files (COUNT=, START=)
# make gallery-optimize  the mechanics of opty's gallery as plans and fits, for the table of docs/steering.md; minutes
# make fit-coverage  how often true values lie in their 95 % intervals: 200 fits of three systems
# make models-round-trip  10,000 random models written, read and written again
# make families      kinds of systems that once went wrong: every member of each
# make families-can-fail  the library broken on purpose, one decision at a time: the families that guard it must notice
# make sweep   2,000 random mechanisms with friction against a reference
# make all-robots       every question to a tree on all robots of example-robot-data against Pinocchio, fixed and floating; half an hour
# make mjcf-models      MJCF files of packages on PyPI against MuJoCo, minutes
# make sweep-linkages   random linkages of every kind against minimal coordinates, minutes
# make sweep-ensembles  every system of the zoo: ensembles against single motions, right-hand sides of all back ends, 20 minutes
# make pages   characters and times of the equations against SymPy's simplify, for the table of docs/forms (QUICK= for all, an hour)
# make problems  characters and times of problems of books beside the zoo, for the second table of docs/forms
# make special-states  every displayed solution at 0, π/2, π and equal angles against the numeric answer; half an hour
# make planted-errors  errors planted in every form of every problem of a book: agree refuses each; half an hour
# make stranger  the wheel in an empty environment of each Python that is here (PYTHONS=), README and tutorial followed literally
# make sources the numbered equations of the five sources, each with the verdict of its test, for the page of the documentation
# make docs    the documentation, into out/docs
# make lecture  the lecture as an executed notebook with its handouts (HTML, LaTeX, PDF where a LaTeX is installed), into out/lecture
# make docs-check    opens every page of it in Chromium, as wide as a desk and as a phone
# make clean   remove what the above have written (.venv stays; make distclean removes it too)
#
# Every target sets up .venv itself. All that is needed is make and a Python of at least 3.11 (PYTHON=… chooses one).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.14 python
IS_ENOUGH := import sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(CANDIDATES); do $$p -c '$(IS_ENOUGH)' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: help demo test lint format bench sweep sweep-linkages docs clean distclean

.PHONY: fuzz-contact
fuzz-contact: $(VENV)/.dev
	$(BIN)/python -m tests.contact.fuzz --count 1000 --references 100

.PHONY: fuzz-store
fuzz-store: $(VENV)/.dev
	$(BIN)/python -m tests.ensembles.fuzz_store

COUNT ?=
START ?= 0

.PHONY: fuzz-api fuzz-files
fuzz-api: $(VENV)/.dev
	$(BIN)/python -m tests.hostile.fuzz_api --start $(START) $(if $(COUNT),--count $(COUNT))

fuzz-files: $(VENV)/.dev
	$(BIN)/python -m tests.hostile.fuzz_files --start $(START) $(if $(COUNT),--count $(COUNT))

.PHONY: fuzz-events
fuzz-events: $(VENV)/.dev
	$(BIN)/python -m tests.families.random_events 10000

.PHONY: fuzz-stops
fuzz-stops: $(VENV)/.dev
	$(BIN)/python -m tests.families.stops 10000

.PHONY: all-robots
all-robots: $(VENV)/.dev
	$(BIN)/python -m tests.tree.all_robots

.PHONY: mjcf-models
mjcf-models: $(VENV)/.dev
	@mkdir -p out/mjcf
	$(PIP) install --no-deps --target out/mjcf gymnasium gymnasium-robotics dm_control
	$(BIN)/python -m tests.tree.mjcf_models out/mjcf

.PHONY: fuzz-models
fuzz-models: $(VENV)/.dev
	$(BIN)/python -m tests.files.fuzz_models --start $(START) $(if $(COUNT),--count $(COUNT))

.PHONY: gallery-optimize
gallery-optimize: $(VENV)/.dev
	$(BIN)/python -m benchmarks gallery

.PHONY: fit-coverage
fit-coverage: $(VENV)/.dev
	$(BIN)/python -m tests.optimize.coverage

.PHONY: models-round-trip
models-round-trip: $(VENV)/.dev
	$(BIN)/python -m tests.files.random_models 10000

.PHONY: families
families: $(VENV)/.dev
	$(BIN)/python -m tests.families

.PHONY: families-can-fail
families-can-fail: $(VENV)/.dev
	$(BIN)/python -m tests.families.broken

.PHONY: fuzz-friction
fuzz-friction: $(VENV)/.dev
	@mkdir -p out
	$(BIN)/python -m tests.friction.random_systems 10000 --workers $(shell nproc 2>/dev/null || echo 2) --out out/friction.json

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.dev
	@mkdir -p out
	$(BIN)/python examples/demo.py

# The tests of a file run in one process: what they share (fixtures, cached systems) is made once.
PARALLEL = -n auto --dist loadfile
test: lint
	$(BIN)/python -m pytest $(PARALLEL)

.PHONY: test-extended
test-extended: lint
	$(BIN)/python -m pytest $(PARALLEL) --extended

# Types of the files that differ from main alone: all of them take as long as the tests, and `make test` asks for them.
.PHONY: check
BASE ?= $(shell git merge-base HEAD main 2>/dev/null || echo HEAD)
CHANGED = $(shell git diff --name-only --diff-filter=d $(BASE) -- 'src/*.py' 2>/dev/null)
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(if $(CHANGED),$(BIN)/pyright $(CHANGED))
	$(BIN)/python -m pytest $(PARALLEL) -q -m "not slow" $$(grep -v '^#' tests/quick.txt)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/pyright --threads 2
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench
	@mkdir -p out
	$(BIN)/python -m benchmarks

sweep: $(VENV)/.dev
	$(BIN)/python -m tests.reference.friction_sweep 2000

sweep-linkages: $(VENV)/.dev
	$(BIN)/python -m tests.tree.test_linkages 10

.PHONY: sweep-ensembles
sweep-ensembles: $(VENV)/.dev
	$(BIN)/python -m tests.ensembles.zoo_sweep

.PHONY: pages
QUICK ?= --quick
pages: $(VENV)/.dev
	$(BIN)/python -m benchmarks.pages $(QUICK)

.PHONY: problems special-states planted-errors
problems: $(VENV)/.dev
	$(BIN)/python -m benchmarks.problems

special-states: $(VENV)/.dev
	$(BIN)/python -m tests.forms.solutions_at_special_states

planted-errors: $(VENV)/.dev
	$(BIN)/python -m tests.forms.planted_errors

PYTHONS ?= python3.11 python3.12 python3.13 python3.14
.PHONY: stranger
stranger: $(VENV)/.python
	$(BIN)/python tests/docs/stranger.py --python $(PYTHONS)

.PHONY: sources
sources: $(VENV)/.dev
	$(BIN)/python docs/sources_data.py

docs: $(VENV)/.docs
	@test -f docs/conf.py || { echo "docs/conf.py is missing: there is no documentation to build yet"; exit 1; }
	$(BIN)/sphinx-build -W --keep-going -b html docs out/docs

.PHONY: lecture
lecture: $(VENV)/.docs
	$(BIN)/python docs/lecture_handouts.py

.PHONY: docs-check
docs-check: $(VENV)/.dev
	$(BIN)/python docs/check_pages.py out/docs

# One stamp an extra: a change of pyproject.toml installs again, nothing else does.
$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "appell needs Python 3.11 or newer with its venv module, and none of" \
	  "$(CANDIDATES) is one. Install it (Debian: apt install python3 python3-venv)," \
	  "or name yours: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c '$(IS_ENOUGH)' || { echo "$(PYTHON) is not a Python of at least 3.11"; exit 1; }
	@test -x $(BIN)/python || { echo "creating $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); }
	@touch $@

$(VENV)/.dev $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(VENV)/.python
	@echo "installing appell with its $* extra into $(VENV) (the first time takes some minutes)"
	@$(PIP) install --editable '.[$*]'
	@touch $@

clean:
	rm -rf out build dist docs/reference .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
