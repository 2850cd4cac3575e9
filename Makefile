# `make book` builds the book, `make test` checks everything; both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TESTABLE := .venv/.ready-to-test

.PHONY: book test sweep clean

book: $(READY)
	@$(BIN)/python -m lib build --strict

# As many workers as there are cores; the tests of a file, and the cells of a notebook, stay with one.
TOGETHER := -n auto --dist loadfile

# Two-thread products of small models wait for each other, many times longer once the cores have other work.
test: export OMP_NUM_THREADS = 1
test: $(TESTABLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(TOGETHER) --nbval --nbval-sanitize-with tests/nbval.cfg book
	$(BIN)/python -m pytest $(TOGETHER) tests

sweep: $(READY)
	$(BIN)/python -m lib sweep all --profile laptop

$(READY): requirements.txt requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 book")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing what the book needs into .venv (a few minutes the first time)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt -c requirements.lock
	@touch $@

$(TESTABLE): $(READY) requirements-test.txt requirements-ray.txt tests/browser.sh
	@echo "installing what the tests need"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-test.txt -c requirements.lock
	@sh tests/browser.sh $(BIN)
	@touch $@

clean:
	rm -rf _build .pytest_cache .ruff_cache book/generated book/.running-*
