# Works with GNU Make 3.81 (macOS) and later. `make help` lists the commands.

PYTHON ?= python3
# The interpreter of test-oldest; NumPy 1.26 has wheels for Python 3.9 to 3.12.
OLDEST_PYTHON ?= $(PYTHON)
# Test processes that run side by side.
JOBS ?= 2
OUT ?= result/digits
PYTEST_ARGS ?=
# Random calls of each function by make fuzz.
FUZZ_EXAMPLES ?= 2000

VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
METADATA := pyproject.toml setup.py minichainer/_version.py $(wildcard minichainer/_native/*.[ch])

.PHONY: help demo test test-pure test-slow test-sanitized test-device test-oldest contract matrix coverage sdist-test mutation mutation-gpu fuzz lint docs clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo         train on handwritten digits, then check gradients'
	@echo 'make test         the whole suite'
	@echo 'make test-pure    the suite without compiled parts, except tests that do not depend on them'
	@echo 'make test-sanitized  the suite on compiled parts that check each access to memory (slow)'
	@echo 'make test-slow    the long tests as well'
	@echo 'make test-device  the tests that need a GPU, on a stand-in for CuPy'
	@echo 'make test-oldest  the suite with NumPy 1.26 in $(OLDEST)'
	@echo 'make contract     the part of the suite that every Python must pass, in a few minutes'
	@echo 'make matrix       what test-pure runs on the newest other Python, short lists on the older ones'
	@echo 'make coverage     which lines of the package that part reaches'
	@echo 'make sdist-test   tests of many rooms on the wheel of the source archive, installed by itself'
	@echo 'make mutation     how many wrong derivative rules the tests of the functions catch'
	@echo 'make mutation-gpu which faults of device code the tests that need a GPU catch'
	@echo 'make fuzz         every function with random arguments, for some minutes'
	@echo 'make lint         ruff, mypy and pyright'
	@echo 'make docs         bring docs/coverage.md, docs/functions.md and docs/gradient_check.svg up to date'
	@echo 'make clean        remove the environments and what runs left behind'

demo: $(VENV)/.ready-run
	$(BIN)/python examples/digits/train_digits.py --out $(OUT)
	$(BIN)/python examples/digits/check_gradients.py

test: $(VENV)/.ready-test
	$(BIN)/python -m pytest -q -n $(JOBS) $(PYTEST_ARGS)

# tests/once.txt leaves out what does not depend on compiled parts: what reads sources or data, rewrites or starts programs, draws, kills, builds archives,
# compiles for devices, or checks gradients of functions that the test writes in NumPy.
# And real signals: the matrix measures lines, and a signal that comes while a line is counted at the end of a block leaves its lock taken.
test-pure: $(VENV)/.ready-test
	MINICHAINER_PURE=1 $(BIN)/python -m pytest -q -n $(JOBS) @tests/once.txt $(PYTEST_ARGS)

test-sanitized: $(VENV)/.ready-test
	$(BIN)/python .ci/sanitized.py --jobs $(JOBS) $(PYTEST_ARGS)

test-slow: $(VENV)/.ready-test
	$(BIN)/python -m pytest -q -n $(JOBS) -m 'slow or not slow' $(PYTEST_ARGS)

# On a machine with a GPU: `.venv/bin/python -m pytest -m gpu`. CuPy 13's names take the tests that they make a difference to;
# with one device, the passes of the compiled tape take CuPy's arrays.
DEVICE := PYTHONPATH=$(CURDIR)/tests/cupy_stand_in $(BIN)/python -m pytest -q -n $(JOBS) -m 'gpu and not slow'

test-device: $(VENV)/.ready-test
	CUPY_STAND_IN=14 $(DEVICE) tests $(PYTEST_ARGS)
	CUPY_STAND_IN=13 $(DEVICE) @tests/device_short.txt $(PYTEST_ARGS)
	CUPY_STAND_IN_DEVICES=1 $(DEVICE) tests/backends/test_cuda.py tests/training tests/links $(PYTEST_ARGS)

test-oldest: $(OLDEST)/.ready-test
	$(OLDEST)/bin/python -m pytest -q -n $(JOBS) $(PYTEST_ARGS)

contract: $(VENV)/.ready-test
	$(BIN)/python -m pytest -q -n $(JOBS) @tests/contract.txt $(PYTEST_ARGS)

matrix:
	$(PYTHON) .ci/matrix.py --jobs $(JOBS)

coverage: $(VENV)/.ready-test
	$(BIN)/python -m pytest -q -n $(JOBS) @tests/contract.txt @tests/measured.txt --cov --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

sdist-test: $(VENV)/.ready-dev
	$(BIN)/python .ci/sdist.py --jobs $(JOBS)

mutation: $(VENV)/.ready-test
	$(BIN)/python -m tests.functions.mutation

mutation-gpu: $(VENV)/.ready-test
	$(BIN)/python -m tests.device_faults

fuzz: $(VENV)/.ready-test
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -q -n $(JOBS) tests/functions/test_fuzz.py

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & mypy=$$!; $(BIN)/basedpyright --pythonpath $(BIN)/python; pyright=$$?; wait $$mypy && exit $$pyright

docs: $(VENV)/.ready-run
	$(BIN)/python docs/make_coverage.py
	$(BIN)/python docs/make_functions.py
	$(BIN)/python docs/make_picture.py

clean:
	rm -rf $(VENV) $(OLDEST) .venv-matrix result build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis

# Each environment is made once, and filled again only when the metadata changes. A richer set of packages
# contains the poorer ones, so it marks those as ready too.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo 'minichainer needs Python 3.10 or later; name one with: make PYTHON=/path/to/python3'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-run: $(METADATA) | $(BIN)/python
	@echo 'Installing minichainer, NumPy, SciPy, mpmath, matplotlib and tqdm into $(VENV) ...'
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[plot,progress]'
	@touch $@

$(VENV)/.ready-test: $(METADATA) | $(BIN)/python
	@echo 'Installing minichainer and what its tests need into $(VENV) ...'
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[test]'
	@touch $(VENV)/.ready-run $@

$(VENV)/.ready-dev: $(METADATA) | $(BIN)/python
	@echo 'Installing minichainer and the development tools into $(VENV) ...'
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $(VENV)/.ready-run $(VENV)/.ready-test $@

$(OLDEST)/bin/python:
	@$(OLDEST_PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' || \
		{ echo 'NumPy 1.26 needs Python 3.10 to 3.12: make test-oldest OLDEST_PYTHON=/path/to/python3.12'; exit 1; }
	$(OLDEST_PYTHON) -m venv $(OLDEST)

$(OLDEST)/.ready-test: $(METADATA) | $(OLDEST)/bin/python
	@echo 'Installing minichainer with NumPy 1.26 into $(OLDEST) ...'
	@$(OLDEST)/bin/python -m pip install $(PIP_FLAGS) -e '.[test]' 'numpy==1.26.*'
	@touch $@
