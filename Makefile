# One command each: `make run` and `make translate` (the experiments on the embedded data), `make test`, `make bench`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run translate test check bench golden tables fuzz kill-test soak clean

run: .venv/installed
	$(BIN)/probe run --task all --aggregator all
	$(BIN)/probe report

# Two models at a time, of about the same cost.
translate: .venv/installed
	$(BIN)/probe translate run --aggregator base,em --apply all
	$(BIN)/probe translate run --aggregator simple,em --apply enc-self
	$(BIN)/probe translate report

test: check
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

check: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/installed
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.page --print

golden: .venv/installed-test
	$(BIN)/python -m pytest tests/report --rewrite-goldens

tables: .venv/installed-test
	$(BIN)/python -m pytest tests/test_tables.py tests/test_documents.py --rewrite-goldens

fuzz: .venv/installed-test
	$(BIN)/python -m tests.fuzzing --count 100000

kill-test: .venv/installed-test
	$(BIN)/python -m pytest tests/commands/test_survival.py -k killed --kills 50 --timeout 0 -s

soak: .venv/installed-test
	$(BIN)/python -m tests.soak --minutes 60

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/installed: setup.cfg pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) .
	touch $@

.venv/installed-test: setup.cfg pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '.[test]'
	touch $@ .venv/installed

clean:
	rm -rf .venv build *.egg-info
