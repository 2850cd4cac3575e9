# `make book` builds the book, `make test` checks everything; both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TESTABLE := .venv/.ready-to-test
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: book test pdf sweep clean lock

book: $(READY)
	@$(BIN)/python -m lib build --strict

# As many workers as there are cores; the tests of a file, and the cells of a notebook, stay with one.
TOGETHER := -n auto --dist loadfile --no-loadscope-reorder

# Two-thread products of small models wait for each other, many times longer once the cores have other work.
test: export OMP_NUM_THREADS = 1
test: $(TESTABLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(TOGETHER) --nbval --nbval-sanitize-with tests/nbval.cfg book tests

# Printing needs the browser of the tests.
pdf: $(TESTABLE) book
	@$(BIN)/python -m lib pdf

sweep: $(READY)
	$(BIN)/python -m lib sweep all --profile laptop

$(READY): requirements.txt requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 book")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing what the book needs into .venv (a few minutes the first time)"
	@$(INSTALL) --no-deps -r requirements.lock
	@$(INSTALL) -r requirements.txt
	@touch $@

$(TESTABLE): $(READY) requirements-test.txt requirements-test.lock requirements-ray.txt tests/browser.sh
	@echo "installing what the tests need"
	@$(INSTALL) --no-deps -r requirements-test.lock
	@$(INSTALL) -r requirements-test.txt
	@sh tests/browser.sh $(BIN)
	@touch $@

# Versions with hashes for every Python from the lowest that is promised; `make lock UPGRADE=1` takes newer ones. What only
# PyTorch needs is left out, since it differs from build to build.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.0 --generate-hashes --no-annotate --no-header
KEPT := awk '/^[a-z]/ {keep = $$0 !~ /^(torch|triton|nvidia-|cuda-)/} keep'

lock: $(TESTABLE)
	$(COMPILE) $(if $(UPGRADE),,-c requirements-test.lock) requirements-test.txt | $(KEPT) > .venv/lock && mv .venv/lock requirements-test.lock
	$(COMPILE) -c requirements-test.lock requirements.txt | $(KEPT) > .venv/lock && mv .venv/lock requirements.lock

clean:
	rm -rf _build .pytest_cache .ruff_cache book/generated book/.running-*
