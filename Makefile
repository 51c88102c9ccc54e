# Weighbridge. Needs make, Python 3.11 or newer and a package registry; everything else is set up by the targets.
# Another Python than the first that fits: make PYTHON=python3.12 site

SHELL := bash
export PYTHON
WEIGHBRIDGE := .venv/bin/weighbridge
.DEFAULT_GOAL := help
.PHONY: help site test preview measure lint format clean venv venv-dev

help: ## show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

site: venv ## set up, measure for a few minutes on this machine, build the site with both results
	@scripts/with-engines.sh $(WEIGHBRIDGE) run cpu-quick
	@$(WEIGHBRIDGE) build
	@echo "The site is in site/; make preview serves it."

preview: venv ## serve the site from committed data, with live reload; needs no engines
	@$(WEIGHBRIDGE) preview

measure: venv ## measure the full profile (about 90 minutes; stops and resumes at any time)
	@$(WEIGHBRIDGE) env setup
	@$(WEIGHBRIDGE) run cpu

test: venv-dev lint ## check style and types, then run all tests, the real engines and the browser included
	@scripts/browser.sh
	@scripts/with-engines.sh $(WEIGHBRIDGE) env setup aiconfigurator
	@.venv/bin/python -m pytest

lint: venv-dev ## check style and types
	@.venv/bin/ruff check --quiet
	@.venv/bin/ruff format --check --quiet
	@.venv/bin/mypy --no-error-summary

format: venv-dev ## mend what ruff can mend
	@.venv/bin/ruff check --quiet --fix
	@.venv/bin/ruff format

clean: ## delete the built site and tools' caches; runs, .venv and environments stay
	@rm -rf site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find pipeline scripts tests -name __pycache__ -prune -exec rm -rf {} +
	@echo "Kept: .weighbridge (local runs), .venv, and the engines' environments (weighbridge env list)."

venv:
	@scripts/venv.sh pipeline

venv-dev:
	@scripts/venv.sh dev
