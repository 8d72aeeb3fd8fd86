# easeml: set up, try, test. Needs Go, Python 3.11 or newer, and make.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
TOOLS := .tools
UV := $(TOOLS)/bin/uv

.PHONY: setup build env lock

setup: build env

build:
	@echo "building bin/easeml"
	@CGO_ENABLED=0 go build -trimpath -o bin/easeml ./cmd/easeml

$(UV):
	@echo "getting uv into $(TOOLS)"
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/pip install --quiet --disable-pip-version-check uv

# The stamp holds the lock's hash: the environment is made anew only when the lock changes.
env: $(UV)
	@want=$$(cat python/requirements.lock python/pyproject.toml | sha256sum | cut -d' ' -f1); \
	if [ "$$(cat $(VENV)/.lock-hash 2>/dev/null)" != "$$want" ]; then \
	  echo "making the Python environment in $(VENV) (about 5 GB with PyTorch; some minutes the first time)"; \
	  [ -x $(VENV)/bin/python ] || $(UV) venv --quiet --python $(PYTHON) $(VENV) && \
	  $(UV) pip sync --quiet --python $(VENV)/bin/python --require-hashes python/requirements.lock && \
	  $(UV) pip install --quiet --python $(VENV)/bin/python --no-deps --no-build-isolation --editable python && \
	  echo $$want > $(VENV)/.lock-hash; \
	fi

lock: $(UV)
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" python/requirements.in -o python/requirements.lock
