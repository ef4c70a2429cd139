# `make` alone lists what there is. Everything runs from .venv, built from requirements-dev.lock.

.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
JOBS ?= 2
LOCK = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --strip-extras --allow-unsafe \
  --generate-hashes --no-emit-options --extra platform --extra examples

# An empty environment has no locale: without this Python would read and print ASCII.
export PYTHONUTF8 := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.PHONY: help install demo dev test lint bench lock clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

install: $(STAMP) ## Build .venv with the exact versions of requirements-dev.lock

$(STAMP): requirements-dev.lock setup.cfg pyproject.toml
	@echo "Building .venv from requirements-dev.lock (once; about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP) ## Start everything, buy as a stranger would, show the balances, stop
	@$(BIN)/provider demo

dev: $(STAMP) ## Sell the examples on this machine until Ctrl-C
	@$(BIN)/provider dev --services $${PROVIDER_SERVICES:-examples.services}

lint: $(STAMP) ## Style, types and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## Lint, then all tests, two files at a time (JOBS=0: one by one)
	$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

bench: $(STAMP) ## Measure against the x402 middleware and a bare Celery chain
	$(BIN)/python -m bench

lock: $(STAMP) ## Choose new versions: requirements.lock to deploy, requirements-dev.lock to work with
	$(LOCK) --output-file requirements.lock setup.cfg
	$(LOCK) --extra local --extra dev --constraint requirements.lock --output-file requirements-dev.lock setup.cfg

clean: ## Remove .venv, data of `make dev` and caches
	rm -rf .venv .provider .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage* build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
