# Two commands on a fresh machine with python3, git and make: `make run` and `make test`.
.DEFAULT_GOAL := help
.PHONY: help run test test-all test-duckdb test-torch test-frameworks test-clients fuzz check bench reliability planted-faults fonts screenshots docs format lock clean

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
INSTALLED_TEST := .venv/.installed-test
# Every file that pip fetches must have a hash of requirements/*.lock. What has no wheel is built with the setuptools that
# build.lock names, because a build in isolation would fetch one without asking for its hash.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation
INSTALL := requirements/install.py --require-hashes
LOCKED := $(BIN)/python $(INSTALL) --requirement requirements/run.lock

RUN_TESTS := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --ignore tests/bench --ignore tests/reliability

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: $(INSTALLED) ## set up, start the console and a sandbox region beside it, print the address
	@$(BIN)/aisbench serve --sandbox

# Files go out in their order: those of the browser, which follow each other in one, and at the end the small ones of
# tests/unit, so that all processes end together. On two cores a third works while others wait for a page or a job.
# Each program that a test starts is read as compiled, wherever we are.
test: $(INSTALLED_TEST) pdf browser postgres servers oidc ## set up and run the tests, in a real browser too
	@$(RUN_TESTS) -m "not torch and not frameworks and not exhaustive"

test-all: $(INSTALLED_TEST) pdf browser postgres servers oidc ## run every combination of the tests' matrices, too
	@$(RUN_TESTS) -m "not torch and not frameworks"
	@$(MAKE) --no-print-directory test-duckdb

# The same libraries, but for DuckDB. Its warning, which users do not get, is explained in aisbench_core/warehouse/store/engine.py.
fuzz: $(INSTALLED_TEST) postgres ## ask the property tests new examples, and more of them
	@$(RUN_TESTS) --hypothesis-profile new-examples $(shell grep -rlE --include='*.py' '@given|RuleBasedStateMachine' tests)

test-duckdb: $(INSTALLED_TEST) .bench/duckdb/.installed ## ask a warehouse of DuckDB's next series, whose extensions for teams are not there yet
	@.bench/duckdb/bin/python -m pytest -q -n 2 -m "not postgres" -W "ignore:Arrow output on a DB-API result:UserWarning" \
		$(wildcard tests/stores/test_warehouse*.py)

.bench/duckdb/.installed: requirements/duckdb.lock $(INSTALLED_TEST)
	@$(PYTHON) -m venv .bench/duckdb
	@.bench/duckdb/bin/python $(INSTALL) --only-binary :all: --requirement requirements/duckdb.lock
	@printf '%s\n' "$(CURDIR)" "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		>"$$(.bench/duckdb/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libraries.pth"
	@touch $@

# torch alone is pinned without a hash, since each index serves another build of it (for CPUs or some CUDA), and its NVIDIA
# packages with it; what every build needs is in the lock.
test-torch: $(INSTALLED_TEST) ## train the PyTorch workloads in the sandbox
	@$(LOCKED) --requirement requirements/torch.lock
	@$(PIP) --constraint constraints.txt --editable '.[torch]'
	@$(BIN)/python -m pytest -m torch --ignore tests/bench --ignore tests/reliability

test-frameworks: $(INSTALLED_TEST) .bench/mlflow/bin/mlflow clients ## run MindSpore and MPI jobs in the sandbox, and send runs to MLflow; downloads about 1 GB
	@$(LOCKED) --requirement requirements/frameworks.lock
	@$(BIN)/python -m pytest -m frameworks --ignore tests/bench --ignore tests/reliability

test-clients: $(INSTALLED_TEST) clients ## ask the sandbox's OBS with rclone, s3cmd, MinIO's clients and the AWS SDK for JavaScript
	@$(BIN)/python -m pytest -s -m frameworks tests/contract/test_sandbox_obs_peers.py

# Types and tests at the same time; what mypy says comes last, in one piece.
check: $(INSTALLED_TEST) pdf ## style, types and the quick tests; a minute
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@types=$$(mktemp); trap 'rm -f "$$types"' EXIT; $(BIN)/mypy >"$$types" 2>&1 & \
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder \
		-m "not slow and not torch" tests/unit tests/test_architecture.py; tests=$$?; \
	wait $$!; mypy=$$?; cat "$$types"; exit $$((tests || mypy))

bench: $(INSTALLED_TEST) postgres .bench/mlflow/bin/mlflow .bench/otava/apache_otava-0.8.0.tar.gz ## measure beside peers, which it installs, and write docs/performance.md
	@$(LOCKED) --requirement requirements/bench.lock
	@$(BIN)/python -m tests.bench.figures
	@$(BIN)/python -m pytest -q -s -p no:xdist tests/bench

.bench/otava/apache_otava-0.8.0.tar.gz: tests/bench/otava.txt
	@$(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --require-hashes --requirement $< --dest $(@D) && touch $@

.bench/mlflow/bin/mlflow: requirements/mlflow.lock
	@$(PYTHON) -m venv .bench/mlflow && .bench/mlflow/bin/python $(INSTALL) --only-binary :all: --requirement requirements/mlflow.lock && touch $@

reliability: $(INSTALLED_TEST) browser postgres hosts ## attack the product for about an hour, and write docs/reliability.md
	@$(BIN)/python -m tests.reliability.outcomes
	@$(BIN)/python -m pytest -q -s -p no:xdist tests/reliability

# The tests run once under coverage, unless they have been: remove .reach after they changed.
planted-faults: $(INSTALLED_TEST) pdf browser postgres servers oidc ## plant faults one after another, and say which the tests of make test find
	@$(LOCKED) --requirement requirements/coverage.lock
	@test -f .reach/data || $(BIN)/python -m tests.planted_faults.reach
	@$(BIN)/python -m tests.planted_faults

fonts: $(INSTALLED_TEST) ## make the report's fonts anew, after new words brought new letters
	@$(LOCKED) --requirement requirements/fonts.lock
	@$(BIN)/python -m tests.report_fonts

screenshots: $(INSTALLED_TEST) browser ## take the README's pictures anew
	@SCREENSHOTS_TO=docs/images $(BIN)/python -m pytest -q tests/browser/test_story.py tests/browser/test_demo.py -k follows

docs: $(INSTALLED_TEST) ## write the documents that are made from the code, and a list of all modules
	@$(BIN)/python -m tests.documents

format: $(INSTALLED_TEST) ## bring all files into the common style
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

# Each lock holds what the ones before it do not: run, then what an extra adds. What an earlier lock holds on some systems only
# (colorama: on Windows) may be needed on all of them by a later one, so it is listed again. setuptools is in build.lock, which comes first.
lock: ## write requirements/*.lock anew, after a change of constraints.txt or pyproject.toml
	@test -x .bench/uv/bin/uv || { $(PYTHON) -m venv .bench/uv && .bench/uv/bin/pip install --quiet uv==0.13.9; }
	@set -e; listed="--no-emit-package=aisbench-console --no-emit-package=setuptools"; \
	compile() { to=requirements/$$1.lock; shift; rm -f $$to; .bench/uv/bin/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --output-file $$to "$$@" >/dev/null; }; \
	compile build requirements/build.in; \
	compile torch --constraint constraints.txt requirements/torch.in; \
	compile mlflow tests/bench/mlflow.txt; \
	compile oidc tests/oidc/provider_mock.txt; \
	compile clients requirements/clients.in; \
	compile fonts requirements/fonts.in; \
	compile coverage requirements/coverage.in; \
	compile duckdb requirements/duckdb.in; \
	for name in run:--extra=pdf,search test:--extra=test bench:--extra=bench frameworks:--extra=mindspore,mpi; do \
		compile $${name%%:*} --constraint constraints.txt $$listed $$(echo $${name#*:} | sed 's/,/ --extra=/g') pyproject.toml; \
		listed="$$listed $$(sed -n 's/^\([^ =]*\)==[^;]*$$/--no-emit-package=\1/p' requirements/$${name%%:*}.lock | tr '\n' ' ')"; \
	done

clean: ## remove what set-up made; data/ stays
	rm -rf .venv .bench .oidc .clients .reach build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: browser
browser:
	@command -v chromium >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium for the browser tests"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-wqy-microhei >/dev/null; \
	else \
		echo "the browser tests need chromium on the PATH: install your system's package (Debian: apt-get install chromium)" >&2; \
		exit 1; \
	fi

# Providers that sign people in, for the tests of OpenID Connect: one in Python, one in JavaScript.
.PHONY: oidc
oidc: .oidc/mock/bin/oidc-provider-mock .oidc/node/node_modules/.package-lock.json

.oidc/mock/bin/oidc-provider-mock: requirements/oidc.lock
	@$(PYTHON) -m venv .oidc/mock && .oidc/mock/bin/python $(INSTALL) --only-binary :all: --requirement requirements/oidc.lock && touch $@

# Clients of object stores that people use; those of the tests' own environment need nothing more.
.PHONY: clients
clients: .clients/python/bin/s3cmd .clients/node/node_modules/.package-lock.json
	@command -v rclone >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends rclone >/dev/null; \
	else \
		echo "these tests need rclone: install your system's package (Debian: apt-get install rclone)" >&2; \
		exit 1; \
	fi

.clients/python/bin/s3cmd: requirements/clients.lock
	@$(PYTHON) -m venv .clients/python
	@.clients/python/bin/python $(INSTALL) --only-binary :all: --requirement requirements/clients.lock && touch $@

.clients/node/node_modules/.package-lock.json: tests/clients/package.json tests/clients/package-lock.json | node
	@mkdir -p .clients/node && cp tests/clients/package.json tests/clients/package-lock.json .clients/node/
	@cd .clients/node && npm ci --silent --no-audit --no-fund --ignore-scripts && touch node_modules/.package-lock.json

.oidc/node/node_modules/.package-lock.json: tests/oidc/package.json tests/oidc/package-lock.json | node
	@mkdir -p .oidc/node && cp tests/oidc/package.json tests/oidc/package-lock.json .oidc/node/
	@cd .oidc/node && npm ci --silent --no-audit --no-fund --ignore-scripts && touch node_modules/.package-lock.json

.PHONY: node
node:
	@command -v npm >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Node.js for the tests of sign-in and of clients"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm >/dev/null; \
	else \
		echo "the tests of sign-in and of clients need Node.js 20 or newer with npm: install your system's packages" \
			"(Debian: apt-get install nodejs npm)" >&2; \
		exit 1; \
	fi

.PHONY: pdf
# WeasyPrint draws with the system's libraries. It warns when one is missing, and a warning is a failure in the tests.
pdf: $(INSTALLED_TEST)
	@$(BIN)/python -W error -c 'import weasyprint' 2>/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Pango and HarfBuzz for the tests of PDF reports"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
			libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 >/dev/null; \
	else \
		echo "the tests of PDF reports need Pango and HarfBuzz-Subset: install your system's packages" \
			"(Debian: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0)" >&2; \
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

.PHONY: hosts
hosts:
	@{ command -v ip && command -v debootstrap && command -v podman; } >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing iproute2, debootstrap and podman for hosts of tests"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends iproute2 debootstrap podman crun >/dev/null; fi

.PHONY: servers
# At runlevel 1 Debian starts no service of a package that it installs.
servers:
	@for program in prometheus nginx caddy haproxy openssl; do PATH=$$PATH:/usr/sbin command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing$$missing for the tests of monitoring, deployment and time stamps"; \
		apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			$$missing >/dev/null; \
	else \
		echo "the tests need$$missing: install your system's packages (Debian: apt-get install$$missing)" >&2; \
		exit 1; \
	fi

$(INSTALLED): pyproject.toml constraints.txt $(wildcard requirements/*.lock)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "python3 cannot make virtual environments (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "installing the console into .venv (about a minute, once)"
	@$(BIN)/python $(INSTALL) --requirement requirements/build.lock
	@$(LOCKED)
	@$(PIP) --no-deps --editable .
	@touch $@

$(INSTALLED_TEST): $(INSTALLED)
	@echo "installing what the tests need"
	@$(LOCKED) --requirement requirements/test.lock
	@touch $@
