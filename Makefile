# The same commands for people and CI. Needs Python 3.11+, pip and make.
PYTHON ?= python3
VENV ?= .venv
FUZZ_SECONDS ?= 30
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
SMALL := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

# Tests start hundreds of processes: what one of them compiles is there for the next.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo docs dist test test-all laws check bench fuzz fixtures format clean

help:
	@echo "make demo    record a real program, verify and replay it"
	@echo "make test    set up and run the tests, but for the slow ones"
	@echo "make test-all  all tests, with branch coverage: what CI runs"
	@echo "make laws    the property tests with new random examples, 16 times as many as make test"
	@echo "make check   lint, types, import contracts"
	@echo "make bench   measure against other recorders, side by side"
	@echo "make fuzz    coverage-guided fuzzing, FUZZ_SECONDS=30 for each target (FUZZ=journal for one)"
	@echo "make fixtures record real agent CLIs again, offline (AGENTS=codex-tui for one)"
	@echo "make docs    build the site of these pages into site/"
	@echo "make dist    build wheel and sdist, check and install them with each Python at hand"
	@echo "make clean   remove what these commands made"

# pip says what it does meanwhile: it takes minutes where packages have to be downloaded.
MADE_OF := pyproject.toml constraints.txt hatch_build.py ptycassette/recording/io/relay.c ptycassette/system/pty/launch.c
$(STAMP): $(MADE_OF)
	@echo "Setting up $(VENV) with all that tests and checks need: up to a few minutes"
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev]'
	@touch $(STAMP) $(SMALL)

# All that the product itself needs.
$(SMALL): $(MADE_OF)
	@echo "Setting up $(VENV): a minute at most"
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $(SMALL)

setup: $(STAMP)

demo: $(SMALL)
	$(BIN)/ptycassette demo

# What one runs while working: all but the long proofs, which are marked slow. Measuring branch
# coverage takes half as long again, so that CI does it, with all tests (COVERAGE= leaves it out).
test: FAST = -m "not slow"
# One more than there are cores: tests wait for programs a lot.
test-all: COVERAGE = --cov --cov-report=term:skip-covered
test-all: LAWS = --hypothesis-profile=all
# The laws, with examples that nobody tried before. What is found becomes an @example of its law.
laws: FAST = -m hypothesis
laws: LAWS = --hypothesis-profile=laws
test test-all laws: WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
test test-all laws: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(FAST) $(COVERAGE) $(LAWS) $(TESTS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python -m benchmarks $(BENCH)

# Beyond the tests, which replay the corpus. Its tool is no part of the set-up: it is large.
fuzz: setup
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
	  $(PIP) --quiet -e '.[fuzz]'
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

fixtures: setup
	$(BIN)/python fixtures/make_agents.py $(AGENTS)
	$(BIN)/python fixtures/make_tape_client.py

# Its tools are no part of the set-up, which tests need. What they say of each other's future is left out.
docs: export NO_MKDOCS_2_WARNING = 1
docs: export DISABLE_MKDOCS_2_WARNING = true
docs: setup
	@$(BIN)/python -c 'import material, mkdocs_click, mkdocs_same_dir, mkdocstrings' 2>/dev/null || \
	  $(PIP) --quiet -e '.[docs]'
	$(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html"

dist:
	PYTHON=$(PYTHON) .ci/dist

clean:
	rm -f ptycassette/recording/io/_relay.so ptycassette/system/pty/_launch
	rm -rf $(VENV) .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* build dist site
