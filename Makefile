# make demo       install, then run the main job on real work into ./demo
# make test       install, then format, types and tests
# make test-all   the same, with a second reader of types, the studies and the exhaustive tests; SHARE=1/4: a quarter of these
# make test-vllm  the classes that vLLM takes, in the real vLLM (several GB, in an environment of its own; no GPU needed)
# make bench      install, then the figures, each beside a reference measured in the same run (let nothing run beside it)

PYTHON ?= python3
BIN := .venv/bin
VLLM := .venv-vllm
DEMO := demo
BENCH := BENCH_STORE=$(DEMO)/.bench $(BIN)/bench

# Modules are compiled once, not at each of the thousands of starts in the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-all test-vllm lint types more-types tests bench clean

install: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' -e '.[dev]'
	touch $@

demo: install
	rm -rf $(DEMO)
	for day in 1 2 3; do \
	  $(BIN)/python tests/generate_profiles.py $(DEMO)/profiles/A/day-$$day --steps 7000 --token-budget 2048 --seed 1$$day; \
	  $(BIN)/python tests/generate_profiles.py $(DEMO)/profiles/B/day-$$day --steps 7000 --token-budget 1024 --floor-ms 6.4 \
	    --per-token-us 24 --seed 2$$day; \
	done
	$(BENCH) measure models --models mlp attention --backends eager inductor --quick --config demo --wide
	$(BENCH) ingest --config A $(DEMO)/profiles/A/*
	$(BENCH) ingest --config B $(DEMO)/profiles/B/*
	$(BENCH) speedups
	$(BENCH) compare A B --all-runs --metrics model_run
	$(BENCH) sql "SELECT config, count(*) AS steps, round(median(model_run_ms), 2) AS median_ms FROM runtime_vs_tokens() GROUP BY config ORDER BY config"
	$(BENCH) viz runtime-vs-tokens A B --all-runs -o $(DEMO)/runtime-vs-tokens.png -o $(DEMO)/runtime-vs-tokens.html
	$(BENCH) viz runtime-vs-tokens A B --all-runs
	$(BENCH) report A B -o $(DEMO)/report.html
	@echo
	@echo "Look at $(DEMO)/runtime-vs-tokens.png, open $(DEMO)/report.html, or ask: BENCH_STORE=$(DEMO)/.bench $(BIN)/bench sql"

# Side by side: mypy alone keeps one core busy.
test: install
	@$(MAKE) --no-print-directory -j3 lint types tests

test-all: install
	@$(MAKE) --no-print-directory -j3 lint types more-types tests MARKS="-m 'not noisy' $(SHARE:%=--share %)"

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

more-types:  # two minutes of processor time, for what mypy seldom leaves
	$(BIN)/basedpyright --project pyproject.toml --pythonpath $(BIN)/python

tests:
	$(BIN)/python -m pytest -n auto $(MARKS)

test-vllm: $(VLLM)/installed
	$(VLLM)/bin/python -m pytest tests/measure/serving/vllm_contract.py

$(VLLM)/installed: pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check 'vllm==0.33.0' pytest hypothesis -e .
	touch $@

bench: install
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf .venv $(VLLM) $(DEMO) build *.egg-info
