# make test: everything a change must pass.   make demo: real vectors from a real Wikipedia dump.
# Both make their own virtual environment in .venv; a fresh machine needs Python 3.11 or newer, and make.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: test demo lint interop clean

test: .venv/dev lint
	$(BIN)/python -m pytest

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The programs our files are meant for, installed and tried: gensim, model2vec, sentence-transformers, spaCy.
interop: .venv/interop
	PSDVEC_INTEROP=1 $(BIN)/python -m pytest tests/interop

demo: .venv/demo
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/demo.sh

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip

.venv/dev: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

.venv/interop: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[interop]'
	touch $@

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[demo]'
	touch $@

clean:
	rm -rf .venv demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
