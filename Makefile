# `make run` serves the dashboard, `make test` runs every test, `make help` lists the rest.
# Settings: PYTHON, TORCH (a pip spec, with options if need be), PORT, DATA, CASES, ARGS.
PYTHON ?= python3.11
TORCH ?= torch==2.13.0
PORT ?= 8765
DATA ?= data
CASES ?= 100000
# Of the tests; more than cores, since much of their time is waiting for others.
PROCESSES ?= 5
VENV := .venv
# A list of packages with hashes, for an environment that is always the same: CI sets it.
LOCK ?=
# Compiled modules are always kept: compiling them again is 40 % of a start.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin

FRONT := $(shell find frontend/src frontend/styles -type f 2>/dev/null) frontend/package-lock.json frontend/build.mjs \
	frontend/vocabulary.py ingest/inductorscope/formats/vocabulary.py

.PHONY: help run test check docs screenshots bench fuzz lock pin clean install install-dev chromium
help:
	@echo "make run          set up, capture the tutorial's model, serve http://127.0.0.1:$(PORT);"
	@echo "                  PORT=8766 DATA=folder choose others"
	@echo "make test         set up and run every test; PYTEST_ARGS=tests/formats runs some"
	@echo "make install      set up, and bundle the front end again if its sources changed"
	@echo "make install-dev  set up for development, with what tests and linters need"
	@echo "make check        linters and type checkers, Python and TypeScript"
	@echo "make docs         write the tables of docs/logs.md and docs/reading.md"
	@echo "make screenshots  take the pictures of docs/screenshots"
	@echo "make bench        read logs and traces, compared with tlparse and HTA; ARGS=--quick for a short one"
	@echo "make fuzz         CASES=100000 damaged inputs for every reader"
	@echo "make lock         choose the packages of the images and of CI, in requirements/"
	@echo "make pin          before a release: name base images by their digests (needs docker)"
	@echo "make clean        remove what the other commands made, but not your data"

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed and '$(PYTHON)' was not found: make run PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.torch: $(VENV)/bin/python
	@echo "Installing $(TORCH) (a large download the first time)"
	$(BIN)/python -m pip install --quiet $(TORCH)
	@touch $@

$(VENV)/.app: $(VENV)/.torch pyproject.toml hatch_build.py $(LOCK) $(FRONT)
	@echo "Installing Inductorscope and bundling its front end"
	$(if $(LOCK),$(BIN)/python -m pip install --quiet --require-hashes -r $(LOCK))
	$(BIN)/python -m pip install --quiet $(if $(LOCK),--no-build-isolation) --editable '.[capture]'
	@touch $@

$(VENV)/.dev: $(VENV)/.app pyproject.toml
	$(BIN)/python -m pip install --quiet $(if $(LOCK),--no-build-isolation) --editable '.[dev]'
	@touch $@

# Triton compiles for GPUs that are not here. It is not among the other packages, since torch takes
# longer to import beside it.
$(VENV)/.pretend: $(VENV)/.app pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target $(VENV)/pretend "triton>=3.6"
	@touch $@

install: $(VENV)/.app
install-dev: $(VENV)/.dev frontend/node_modules/.dev

run: $(VENV)/.app
	$(BIN)/inductorscope serve --data $(DATA) --port $(PORT) --first-capture neg-maximum-cat

# The browser tests need a Chromium: the machine's, Debian's, or Playwright's own.
chromium: $(VENV)/.dev
	@$(BIN)/python tests/support/chromium.py

test: $(VENV)/.dev $(VENV)/.pretend frontend/node_modules/.dev chromium
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

frontend/node_modules/.dev: frontend/package-lock.json $(VENV)/.dev
	$(BIN)/python hatch_build.py ci --ignore-scripts --no-audit --no-fund
	@touch $@

# The pictures in docs/ are taken by the browser tests, so they show what is.
screenshots: $(VENV)/.dev frontend/node_modules/.dev chromium
	INDUCTORSCOPE_SCREENSHOTS=docs/screenshots $(BIN)/python -m pytest tests/browser/test_screenshots.py

# The tables of docs/logs.md and docs/reading.md, from lists that need no package.
docs:
	PYTHONPATH=ingest:. $(PYTHON) docs/write_tables.py

check: $(VENV)/.dev frontend/node_modules/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python hatch_build.py run --silent check

# Installs the peers into an environment of their own (bench/.venv); logs are made in bench/work.
bench: $(VENV)/.app
	@$(BIN)/python -m bench.logs $(ARGS)

fuzz: $(VENV)/.dev
	INDUCTORSCOPE_FUZZ_CASES=$(CASES) $(BIN)/python -m pytest --capture no --timeout 0 tests/fuzz

# Without torch, whose build people choose, and without the address of an index.
COMPILE := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
lock: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml --extra objects --output-file requirements/images.txt
	$(COMPILE) pyproject.toml --extra objects --extra dev --output-file requirements/development.txt
	printf 'hatchling>=1.27\nnodejs-wheel-binaries>=22\n' | $(COMPILE) - --output-file requirements/build.txt

pin:
	sh docker/pin.sh docker/*.Dockerfile docker-compose.yml

clean:
	rm -rf $(VENV) bench/.venv bench/work frontend/node_modules frontend/dist build dist
