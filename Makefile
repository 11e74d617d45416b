# Two commands on a fresh machine with python3, git and make: `make run` and `make test`.
.DEFAULT_GOAL := help
.PHONY: help run test test-torch test-frameworks check bench screenshots format clean

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
INSTALLED_TEST := .venv/.installed-test
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: $(INSTALLED) ## set up, start the console and a sandbox region beside it, print the address
	@$(BIN)/aisbench serve --sandbox

# Files go out in their order: those of the browser, which follow each other in one, and at the end the small ones of
# tests/unit, so that both processes end together. Each program that a test starts is read as compiled, wherever we are.
test: $(INSTALLED_TEST) browser postgres ## set up and run all tests, in a real browser too
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not torch and not frameworks" --ignore tests/bench

test-torch: $(INSTALLED_TEST) ## train the PyTorch workload in the sandbox, on 2 nodes x 2 cards
	@$(PIP) --editable '.[torch]'
	@$(BIN)/python -m pytest -m torch --ignore tests/bench

test-frameworks: $(INSTALLED_TEST) ## run MindSpore and MPI jobs in the sandbox; downloads about 1 GB
	@$(PIP) --editable '.[mindspore,mpi]'
	@$(BIN)/python -m pytest -m frameworks --ignore tests/bench

check: $(INSTALLED_TEST) ## style, types and the quick tests; seconds
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q -n 2 tests/unit tests/test_architecture.py

bench: $(INSTALLED_TEST) ## measure beside peers, which it installs, and write docs/performance.md; a quarter of an hour
	@$(PIP) --editable '.[bench]'
	@test -x .bench/mlflow/bin/mlflow || { $(PYTHON) -m venv .bench/mlflow && \
		.bench/mlflow/bin/pip install --quiet --disable-pip-version-check --requirement tests/bench/mlflow.txt; }
	@$(BIN)/python -m tests.bench.figures
	@$(BIN)/python -m pytest -q -s -p no:xdist tests/bench

screenshots: $(INSTALLED_TEST) browser ## take the README's pictures anew
	@SCREENSHOTS_TO=docs/images $(BIN)/python -m pytest -q tests/browser/test_story.py -k follows

format: $(INSTALLED_TEST) ## bring all files into the common style
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

clean: ## remove what set-up made; data/ stays
	rm -rf .venv .bench build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: browser
browser:
	@command -v chromium >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium for the browser tests"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-wqy-microhei >/dev/null; \
	else \
		echo "the browser tests need chromium on the PATH: install your system's package (Debian: apt-get install chromium)" >&2; \
		exit 1; \
	fi

.PHONY: postgres
postgres:
	@command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing PostgreSQL for the tests of team warehouses"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
	else \
		echo "the tests need PostgreSQL: install your system's package (Debian: apt-get install postgresql)" >&2; \
		exit 1; \
	fi

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "python3 cannot make virtual environments (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "installing the console into .venv (about a minute, once)"
	@$(PIP) --editable .
	@touch $@

$(INSTALLED_TEST): $(INSTALLED)
	@echo "installing what the tests need"
	@$(PIP) --editable '.[test]'
	@touch $@
