# Every task of this repository. All of them run inside .venv, which the first one creates.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help check test lint format docs bench clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

check: $(VENV)/.base ## install the torch-free base, run every gate on this checkout
	$(BIN)/gates check

test: $(VENV)/.test ## install what the tests need, run them (ARGS goes to pytest)
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.test ## ruff (lint and format) and mypy --strict
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.base ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.base ## regenerate docs/rules/ from the rules themselves
	$(BIN)/gates explain --write docs/rules

bench: $(VENV)/.base ## compare speed with other tools (downloads 100 MB; ARGS goes to the benchmark)
	$(BIN)/python -m benchmarks.gates $(ARGS)

clean: ## remove .venv and everything else that a target here has made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis benchmarks/.cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched last, so an install that was interrupted is done again.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Voltgate needs Python 3.11 or newer. Name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: pyproject.toml $(VENV)/.created
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(INSTALL) --editable '.[test,lint]'
	@touch $@
