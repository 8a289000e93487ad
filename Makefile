# `make help` lists what there is. A torch that python3 can import already is used as it is;
# TORCH= chooses one to install: make run TORCH='torch==2.6.0'.

PYTHON ?= python3
TORCH ?=
FUZZ_SECONDS ?= 300
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
ROOT := $(filter 0,$(shell id -u))
APT := $(and $(ROOT),$(shell command -v apt-get))
# What the tests on a real Slurm, on PBS and in real containers need, and those of the manual and
# of completion.
PACKAGES := slurm-wlm munge iproute2 procps shellcheck podman runc groff-base mandoc zsh fish

.DEFAULT_GOAL := help
FORCE:
.PHONY: FORCE help run test lint golden mutants coverage cluster fuzz bench bench-peers wheel-check clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: $(VENV)/run  ## generate the job `local` and run it here: four ranks report
	PATH="$(BIN):$$PATH" jobgen local -o build/local.sh
	PATH="$(BIN):$$PATH" build/local.sh

test: $(VENV)/test $(VENV)/packages  ## all tests; what this machine lacks is skipped, with the reason
	PATH="$(BIN):$$PATH" python -m pytest -n 4 --dist worksteal $(ARGS)

lint: $(VENV)/test  ## ruff, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: $(VENV)/test  ## rewrite the expected scripts, messages and the manual; review their diff
	PATH="$(BIN):$$PATH" python -m pytest -q --update tests/test_golden.py tests/test_errors.py tests/test_readme.py tests/test_manual.py
	git --no-pager diff --stat -- tests/golden tests/errors README.md man

# In a copy, without caches: mutmut leaves functions with a decorator alone.
mutants: $(VENV)/test  ## faults put into quoting, planning and schedulers that no unit test notices; hours
	$(PIP) mutmut==3.8.1
	rm -rf build/mutants && mkdir -p build/mutants
	cp -r jobgen tests man profiles templates README.md pyproject.toml build/mutants
	cd build/mutants && sed -i '/^@lru_cache/d' jobgen/*.py jobgen/schedulers/*.py
	cd build/mutants && PATH="$(BIN):$$PATH" mutmut run $(ARGS)
	cd build/mutants && PATH="$(BIN):$$PATH" mutmut results

cluster: $(VENV)/test $(VENV)/packages  ## a shell on a real Slurm of several nodes, made on this machine
	PATH="$(BIN):$$PATH" python -m tests.cluster

coverage: $(VENV)/test  ## the branches of jobgen/ that the tests without a cluster take; fails below 95 %
	$(PIP) 'coverage>=7.10'
	PATH="$(BIN):$$PATH" coverage run -m pytest -q --ignore=tests/cluster \
	  --ignore=tests/test_trainers.py -k 'not disk'  # a full disk would be coverage's, too
	PATH="$(BIN):$$PATH" coverage combine -q
	PATH="$(BIN):$$PATH" coverage report

fuzz: $(VENV)/test  ## a coverage-guided fuzzer at the readers of files, FUZZ_SECONDS each; inputs stay in build/fuzz
	$(PIP) atheris
	set -e; for target in profile head script manifest; do \
	  mkdir -p build/fuzz; PATH="$(BIN):$$PATH" nice python -m tests.fuzz.$$target \
	    -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/$$target-; done

bench: $(VENV)/test  ## ratios against references in the same run: start-up, sizes, many scripts, trainers, the way to the first step; lint
	PATH="$(BIN):$$PATH" python bench/startup.py
	PATH="$(BIN):$$PATH" python bench/sizes.py
	PATH="$(BIN):$$PATH" python bench/scripts.py
	PATH="$(BIN):$$PATH" python bench/trainers.py
	PATH="$(BIN):$$PATH" python bench/first_step.py
	PATH="$(BIN):$$PATH" python bench/lint.py

bench-peers: $(VENV)/test  ## jobgen beside torchx, signac-flow, ReFrame, Maestro, slurmkit, which it installs in .cache
	PATH="$(BIN):$$PATH" python bench/peers.py

wheel-check: $(VENV)/test  ## build the wheel, install it elsewhere, generate from there
	PATH="$(BIN):$$PATH" sh tests/wheel-check.sh

clean:  ## remove what make has made
	rm -rf $(VENV) build dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/made: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "jobgen needs Python 3.10 or newer: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(if $(APT),apt-get update -q && apt-get install -qy python3-venv,echo "$(PYTHON) has no venv: install python3-venv"; exit 1); }
	$(PYTHON) -m venv $(if $(TORCH),,$$($(PYTHON) -c 'import torch' 2>/dev/null && echo --system-site-packages)) $(VENV)
	$(PIP) -e .
	@mkdir -p build
	@touch $@

# A torch that is asked for is installed, whatever there is; FORCE, since the stamp may be there.
$(VENV)/run: $(VENV)/made $(if $(TORCH),FORCE)
	$(if $(TORCH),$(filter-out -c constraints.txt,$(PIP)) $(TORCH) numpy,$(BIN)/python -c 'import torch' 2>/dev/null || $(PIP) torch numpy)
	@touch $@

$(VENV)/test: $(VENV)/run
	$(PIP) -e '.[test]'
	@touch $@

$(VENV)/packages: $(VENV)/made
	$(if $(APT),apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $(PACKAGES) || echo "some packages are missing: their tests will be skipped",@echo "not root, or no apt-get: tests that need Slurm or podman are skipped where these are missing")
	@touch $@
