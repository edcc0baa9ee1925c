# make check: while you work.   make test: everything a change must pass.   make demo: real vectors from a real Wikipedia dump.   make docs: the site.
# Each makes its own part of the virtual environment in .venv; a fresh machine needs Python 3.11 or newer, and make.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: check test test-skipped torture wheel-test boxed-model lint demo docs interop screenshots notebooks clean

# Style, types and the quick tests, in two or three minutes on two cores; it says how many slow tests it left out.
check: .venv/dev lint
	$(BIN)/python -m pytest -n logical --dist loadfile -m "not slow"

test: .venv/dev lint
	$(BIN)/python -m pytest -n logical --dist loadfile

# What the last `make test` skipped, after you have installed what was missing: torch, a browser.
test-skipped: .venv/dev lint
	$(BIN)/python -m pytest -n logical --dist loadfile --skipped

# Hostile input by the thousand, for an hour; `make torture TORTURE="--minutes 5 --seed 2"` is shorter, and another.
TORTURE ?= --minutes 60

torture: .venv/dev
	$(BIN)/python -m tests.torture $(TORTURE)

# The sdists, and the wheels from them, built and tried in an empty environment; what passed is in dist/.
wheel-test:
	PYTHON=$(PYTHON) bash scripts/wheel_test.sh

# The model of packages/psdvec-simplewiki, from a dump or a text: make boxed-model TEXT=simplewiki-latest-pages-articles.xml.bz2
boxed-model: .venv/dev
	$(BIN)/python packages/psdvec-simplewiki/build.py $(TEXT)

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The programs our files are meant for, installed and tried: gensim, model2vec, sentence-transformers, spaCy; and S3.
interop: .venv/interop
	PSDVEC_INTEROP=1 $(BIN)/python -m pytest tests/interop tests/docs

# Pictures of the explorer for the documentation. Name your own models, or those of the demo are taken.
MODEL ?= demo-output/model
COUNTS ?= demo-output/counts
OTHER ?= demo-output/paper-model

screenshots: .venv/dev $(MODEL) $(OTHER)
	$(BIN)/python -m scripts.screenshots $(MODEL) $(OTHER) --counts $(COUNTS) --output docs/images

demo-output/model:
	$(MAKE) demo

demo-output/paper-model: | demo-output/model
	$(BIN)/psdvec fit demo-output/counts -o $@ --dim 100 --recipe paper

# The notebooks of examples/notebooks, run by Jupyter, with what they show; make notebooks NOTEBOOKS=shop runs one.
NOTEBOOKS ?=

notebooks: .venv/notebooks
	$(BIN)/python -m scripts.notebooks $(NOTEBOOKS)

# The documentation as pages in site/, every link checked, any warning an error.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the pages are in site/; open site/index.html, or search them too: python3 -m http.server --directory site"

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

.venv/docs: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

.venv/notebooks: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[notebooks]'
	touch $@

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[demo]'
	touch $@

clean:
	rm -rf .venv demo-output site packages/psdvec-simplewiki/psdvec_simplewiki/simplewiki .pytest_cache .mypy_cache .ruff_cache .hypothesis
