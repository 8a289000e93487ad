# `make help` lists what there is. A torch that python3 can import already is used as it is;
# TORCH= chooses one to install: make run TORCH='torch==2.6.0'.

PYTHON ?= python3
TORCH ?=
FUZZ_SECONDS ?= 300
RECIPES := accelerate==1.15.0 deepspeed==0.19.8 lightning==2.6.6 ray==2.60.0 torchft==0.2.0 transformers==5.23.0 \
  'nvidia-resiliency-ext==0.4.1; python_version < "3.13"'
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
ROOT := $(filter 0,$(shell id -u))
APT := $(and $(ROOT),$(shell command -v apt-get))
# What the tests on a real Slurm, on PBS and in real containers need, and those of the manual, of
# completion and of the doctor's page.
PACKAGES := slurm-wlm munge iproute2 procps shellcheck podman runc docker.io openmpi-bin mpich groff-base \
  mandoc openssh-client openssh-server rsync zsh tcsh fish chromium strace squashfs-tools squashfuse

# The tests start jobgen some thousand times: it is compiled once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
FORCE:
.PHONY: FORCE help run quick test test-all thorough failed recipes lint golden docs docs-serve mutants coverage cluster fuzz bench bench-peers wheel-check release-check registry clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: $(VENV)/run  ## generate the job `local` and run it here: four ranks report
	PATH="$(BIN):$$PATH" jobgen local -o build/local.sh
	PATH="$(BIN):$$PATH" build/local.sh

quick: lint  ## lint, types, and the tests without a cluster, torch or long examples: 2 minutes
	PATH="$(BIN):$$PATH" python -m pytest -q -n 2 --dist worksteal --ignore=tests/cluster -m 'not torch and not slow' $(ARGS)

test: $(VENV)/test $(VENV)/packages .cache/npm/made  ## the tests; what this machine lacks is skipped, with the reason
	PATH="$(BIN):$$PATH" python -m pytest -n 4 --dist worksteal --durations=20 $(ARGS)

test-all: test thorough  ## the same, and then what takes long: all faults, each kind of script
	@[ "$(ARGS)" ] || ! git diff --quiet HEAD 2> /dev/null || git rev-parse HEAD > build/tested  # for release-check

thorough: $(VENV)/test $(VENV)/packages  ## only what takes long
	PATH="$(BIN):$$PATH" python -m pytest -n 4 --dist worksteal --durations=20 -m thorough --faults 2

failed: $(VENV)/test  ## the tests that failed last, each alone on the machine; the first that fails again ends it
	PATH="$(BIN):$$PATH" python -m pytest --last-failed --last-failed-no-failures none --maxfail 1 --faults 2

recipes: .venv-recipes/made $(VENV)/packages  ## install what docs/recipes.md needs (350 MB), and run each recipe on a real Slurm
	PATH="$(BIN):$$PATH" python -m pytest -v tests/cluster/test_recipes.py $(ARGS)

lint: $(VENV)/test  ## ruff, mypy --strict, and the order of the package's rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

golden: $(VENV)/test  ## write the expected scripts, messages, pages and the manual again; review their diff
	PATH="$(BIN):$$PATH" python -m pytest -q --update tests/diagnosis/test_index.py tests/test_golden.py tests/test_errors.py tests/test_docs.py tests/test_manual.py \
	  tests/test_api.py tests/test_schema.py tests/test_packaging.py tests/test_site_spelling.py
	git --no-pager diff --stat -- tests/golden tests/errors tests/api-signatures.txt jobgen/__init__.pyi jobgen/diagnosis/classes '*.md' '*.ipynb' man completions packaging

docs: $(VENV)/test .cache/npm/made  ## the site in build/site, with the page where a script is made
	PATH="$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 python -m mkdocs build --quiet --strict -d build/site

docs-serve: $(VENV)/test .cache/npm/made  ## the site at http://127.0.0.1:8000, made again when a page changes
	PATH="$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 python -m mkdocs serve

# In a copy, without caches: mutmut leaves functions with a decorator alone.
mutants: $(VENV)/test  ## faults in quoting, planning and schedulers that no unit test notices; takes hours
	$(PIP) mutmut==3.8.1
	rm -rf build/mutants && mkdir -p build/mutants
	cp -r jobgen tests docs man profiles templates *.md pyproject.toml build/mutants
	cd build/mutants && sed -i '/^@lru_cache/d' jobgen/*.py jobgen/plann*/*.py jobgen/schedulers/*.py
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

fuzz: $(VENV)/test  ## a coverage-guided fuzzer for the readers of files, FUZZ_SECONDS each; inputs stay in build/fuzz
	$(PIP) atheris
	set -e; for target in profile header script manifest; do \
	  mkdir -p build/fuzz; PATH="$(BIN):$$PATH" nice python -m tests.fuzz.$$target \
	    -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/$$target-; done

bench: $(VENV)/test  ## ratios against references in the same run: start-up, sizes, many scripts, trainers, the way to the first step; lint, why
	PATH="$(BIN):$$PATH" python bench/startup.py
	PATH="$(BIN):$$PATH" python bench/sizes.py
	PATH="$(BIN):$$PATH" python bench/scripts.py
	PATH="$(BIN):$$PATH" python bench/trainers.py
	PATH="$(BIN):$$PATH" python bench/first_step.py
	PATH="$(BIN):$$PATH" python bench/lint.py
	PATH="$(BIN):$$PATH" python bench/why.py

bench-peers: $(VENV)/test  ## jobgen beside torchx, signac-flow, ReFrame, Maestro, slurmkit, which it installs in .cache
	PATH="$(BIN):$$PATH" python bench/peers.py

wheel-check: $(VENV)/test  ## build the wheel, install it elsewhere, generate from there
	PATH="$(BIN):$$PATH" sh tests/wheel-check.sh $(ARGS)

release-check: $(VENV)/test  ## the checklist before a release, one line a step: clean, one version, tested, built twice, installed
	PATH="$(BIN):$$PATH" python packaging/release_check.py

registry: $(VENV)/made  ## the registry of profiles, a repository ready to be published, in FOLDER
	PATH="$(BIN):$$PATH" python packaging/registry/make.py $(or $(FOLDER),build/registry)

clean:  ## remove what make created
	rm -rf $(VENV) .venv-recipes build dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/made: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "jobgen needs Python 3.10 or newer: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(if $(APT),apt-get update -q && apt-get install -qy python3-venv,echo "$(PYTHON) has no venv: install python3-venv"; exit 1); }
	$(PYTHON) -m venv $(if $(TORCH),,$$($(PYTHON) -c 'import torch' 2>/dev/null && echo --system-site-packages)) $(VENV)
	$(PIP) -e .
	@mkdir -p build
	@touch $@

# TORCH= installs that torch in any case: FORCE, since the stamp may exist.
$(VENV)/run: $(VENV)/made $(if $(TORCH),FORCE)
	$(if $(TORCH),$(filter-out -c constraints.txt,$(PIP)) $(TORCH) numpy,$(BIN)/python -c 'import torch' 2>/dev/null || $(PIP) torch numpy)
	@touch $@

# The sweeper asks for an optuna below 3, and runs with the newest.
$(VENV)/test: $(VENV)/run
	$(PIP) -e '.[test]'
	$(PIP) --no-deps hydra-optuna-sweeper
	@touch $@

# It sees the packages of $(VENV) by its .pth file: torch is there once, and no package replaces it.
.venv-recipes/made: Makefile $(VENV)/test
	$(BIN)/python -m venv --clear .venv-recipes
	$(BIN)/python -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")), sep="\n")' \
	  > "$$(.venv-recipes/bin/python -c 'import site; print(site.getsitepackages()[0])')/base.pth"
	$(BIN)/python -c 'import torch; print("torch==" + torch.__version__)' > .venv-recipes/torch.txt
	.venv-recipes/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-recipes/torch.txt $(RECIPES)
	@touch $@

# What the page runs on. Without npm, the site says how to make the page, and its tests are skipped.
.cache/npm/made: jobgen/page/packages.py $(VENV)/made
	@mkdir -p $(@D)
	@names=$$($(BIN)/python -c 'from jobgen.page.packages import PACKAGES; print(*(f"{p.name}@{p.version}" for p in PACKAGES))') && \
	  (cd $(@D) && npm pack --silent $$names > names) && mv $(@D)/names $@ || \
	  { echo "npm is missing, or downloads nothing: the page is not made, and its tests are skipped"; : > $@; }

$(VENV)/packages: $(VENV)/made
	$(if $(APT),apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $(PACKAGES) || echo "some packages are missing: their tests will be skipped",@echo "not root, or no apt-get: tests that need Slurm, podman or docker are skipped where these are missing")
	@touch $@
