# easeml: set up, try, test. Needs Go, Python 3.11 or newer, and make.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
TOOLS := .tools
UV := $(TOOLS)/bin/uv
PY := $(VENV)/bin/python
# One way to compile for building and testing, so that nothing is compiled twice; the race detector is the exception.
export CGO_ENABLED := 0
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: bench-data bench-walk bench-kernel cross bench-allocator prior help setup build env kernelspec data demo test test-go test-python test-browser test-models lab lock clean

help:
	@echo "make setup   build bin/easeml, make the Python environment, install the kernel into it"
	@echo "make demo    set up, then play a scene with real trainings, about two minutes"
	@echo "make lab     set up, then open JupyterLab with the kernel ready"
	@echo "make test    set up, then the quick tests"
	@echo "make test-models   set up, then what is large or long, about six minutes"
	@echo "make cross   kernel and command line for Linux, macOS and Windows, amd64 and arm64, to see that they build"
	@echo "make bench-data    what reading data costs, beside pandas and Pillow: throughput, memory, one answer; some minutes"
	@echo "make bench-walk    from feed to the first real model, beside a plain script; at most four minutes"
	@echo "make bench-kernel  our kernel beside ipykernel: start, echo, many cells, memory; some minutes"
	@echo "make test-browser  set up, then JupyterLab in a Chromium, about six minutes"

setup: build env kernelspec data

build:
	@echo "building bin/easeml"
	@go build -ldflags "-X main.version=$(VERSION)" -o bin/easeml ./cmd/easeml

$(UV):
	@echo "getting uv into $(TOOLS)"
	@$(PYTHON) -c 'import sys; sys.exit("easeml needs Python 3.11 or newer; this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/pip install --quiet --disable-pip-version-check uv

# The stamp holds the lock's hash: the environment is made anew only when the lock changes. nbgrader is there for the tests; its menus
# are left out of JupyterLab.
env: $(UV)
	@want=$$(cat python/requirements.lock python/pyproject.toml | sha256sum | cut -d' ' -f1); \
	if [ "$$(cat $(VENV)/.lock-hash 2>/dev/null)" != "$$want" ]; then \
	  echo "making the Python environment in $(VENV) (about 6 GB with PyTorch; some minutes the first time)"; \
	  { [ -x $(PY) ] || $(UV) venv --quiet --python $(PYTHON) $(VENV); } && \
	  $(UV) pip sync --quiet --python $(PY) --require-hashes python/requirements.lock && \
	  $(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable python && \
	  rm -rf $(VENV)/etc/jupyter/jupyter_server_config.d/nbgrader.json $(VENV)/share/jupyter/labextensions/@jupyter/nbgrader && \
	  echo $$want > $(VENV)/.lock-hash; \
	fi

kernelspec: build env
	@bin/easeml install --prefix $(VENV)

data: env
	@$(PY) notebooks/make_data.py

demo: setup
	@$(PY) notebooks/demo.py

lab: setup
	@cd notebooks && EASEML_PYTHON=$(CURDIR)/$(PY) ../$(VENV)/bin/jupyter lab

# The quick tier: what must hold after every change.
test: setup test-go test-python

# Where goroutines meet sockets, processes and each other, the race detector looks on; it needs a C compiler.
RACED := ./api/... ./gpu/... ./kernel/jupyter/... ./kernel/cells/... ./server/blob ./server/store ./server/http

test-go:
	@echo "Go: format, vet, tests"
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted: $$bad"; exit 1; }
	@go vet ./...
	@if command -v $${CC:-cc} >/dev/null; then \
	  CGO_ENABLED=1 go test -race $(RACED) && go test $$(go list ./... | grep -v -x -F "$$(go list $(RACED))"); \
	else \
	  echo "no C compiler: the race detector is left out" && go test ./...; \
	fi

test-python:
	@echo "Python: the trainer, the kernel with Jupyter's own suite, the notebooks"
	@$(PY) -m pytest -q python/tests --ignore=python/tests/browser

# What is large or long: ten thousand pictures, what memory files take, sixty forks, suspects corrected, series and masks whole, a course that is graded.
test-models: setup
	@echo "What is large or long: many pictures, memory, forks, whole tasks; papermill, nbgrader"
	@$(PY) -m pytest -q -s -m models python/tests --ignore=python/tests/browser

# A real JupyterLab in a real Chromium, some minutes; its pictures are left in build/browser.
test-browser: setup
	@echo "JupyterLab in a browser: completion, the live chart, interrupt, reload, restart, re-open, both themes, two people, a lost server"
	@$(PY) -m pytest -x -q python/tests/browser

# What reading data costs, beside pandas and Pillow: throughput, memory, one answer (some minutes; TURNS=2 for a quick look).
bench-data: setup
	@$(PY) python/bench_data.py

# From feed to the first real model, warm and cold, beside a plain scikit-learn script in the same run; no round is begun after 200 s.
bench-walk: setup
	@$(PY) python/bench_walk.py

# Kernel and command line for the systems that this one isn't, without optimization (half the time); what comes out is thrown away.
CROSS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
cross:
	@out=$$(mktemp -d) && trap 'rm -rf $$out' EXIT && \
	for system in $(filter-out $(shell go env GOOS)/$(shell go env GOARCH),$(CROSS)); do \
	  echo "building for $$system" && GOOS=$${system%/*} GOARCH=$${system#*/} go build -gcflags='all=-N -l' -o $$out/easeml ./cmd/easeml || exit 1; \
	done

# Our kernel beside ipykernel: start, echo, ten thousand small and a hundred large cells, memory; some minutes.
bench-kernel: setup
	@$(PY) python/bench_kernel.py

# The allocator's replays and speed, written into docs/allocator-report.md (a quarter of an hour on two idle cores; DRAWS=20 for a quick look).
DRAWS ?= 200
PEERS ?= $(PY)
bench-allocator:
	@mkdir -p build docs
	@EASEML_SPEED=1 go test -count=1 -timeout 30m -run 'TestSpeed$$' -v ./allocator | tee build/allocator-speed.txt
	@OMP_NUM_THREADS=1 $(PEERS) allocator/testdata/gpr_speed.py | tee -a build/allocator-speed.txt
	@go run ./allocator/replay/bench -draws $(DRAWS) -large $(DRAWS) -speed build/allocator-speed.txt

# What the catalogue's candidates reach on data sets that Python packages ship: the history of a fresh server (a quarter of an hour).
prior:
	@$(PY) server/history/make_shipped.py

lock: $(UV)
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" python/requirements.in -o python/requirements.lock

clean:
	rm -rf bin build
