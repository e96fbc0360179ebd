# What one does with this checkout; `make` alone lists it. Written for GNU make 3.81, which macOS ships.

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
  "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
endif
BIN := .venv/bin
INSTALLED := .venv/installed
INFRA_INSTALLED := .venv/installed-infra
STAGE ?= dev
UV := $(BIN)/uv --quiet

.DEFAULT_GOAL := help
.PHONY: help setup setup-infra synth deploy destroy test check format rules demo serve-help bench-quality bench-latency bench-units review-agreement learn soak constraints

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## make .venv with the product and all that its tests need

# Again only when what is to be installed has changed. uv installs ten times faster than the pip that brings it.
$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found; name one: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setup: a virtual environment in .venv, by $(PYTHON)"
	@"$(PYTHON)" -m venv .venv || { echo "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "setup: the product, its one-machine edition and the test tools"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@$(UV) pip install --python $(BIN)/python -e '.[local,dev]' -c constraints.txt || { \
	  echo "setup: that was uv, which does not read pip's settings (mirrors, certificates); now pip, which takes longer"; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,dev]' -c constraints.txt; }
	@touch $(INSTALLED)
	@echo "setup: done"

setup-infra: $(INFRA_INSTALLED)

# Apart, since who only runs the product on one machine needs none of its 80 MB.
$(INFRA_INSTALLED): $(INSTALLED)
	@echo "setup: the deployment's libraries"
	@$(UV) pip install --python $(BIN)/python -e '.[local,dev,infra]' -c constraints.txt || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,dev,infra]' -c constraints.txt
	@touch $(INFRA_INSTALLED)

# The command line of CDK, as package-lock.json pins it.
node_modules: package.json package-lock.json
	@command -v npm >/dev/null || { echo "Needs Node 20 or newer, with npm: https://nodejs.org" >&2; exit 1; }
	@npm ci --silent --no-audit --no-fund && touch node_modules

CDK = npx --no-install cdk --context stage=$(STAGE)

synth: setup-infra node_modules ## write the CloudFormation template of a stage into cdk.out: make synth STAGE=dev
	@$(CDK) synth --quiet
	@echo "synth: cdk.out/AgentMemory-$(STAGE).template.json"

deploy: setup-infra node_modules ## put a stage into the AWS account of your credentials: make deploy STAGE=dev
	@$(CDK) deploy AgentMemory-account AgentMemory-$(STAGE)

destroy: setup-infra node_modules ## take a stage out again; prod keeps its tables, domain and logs: make destroy STAGE=dev
	@$(CDK) destroy AgentMemory-$(STAGE)

test: setup-infra ## run every test; those on OpenSearch skip where Java or Maven is missing
	@echo "test: pytest on all of tests/"
	@$(BIN)/pytest

check: setup-infra ## style, types, layers
	@echo "check: ruff (style)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "check: mypy (types)"
	@$(BIN)/mypy
	@echo "check: import-linter (layers)"
	@$(BIN)/lint-imports

format: setup ## put code into the one format
	@echo "format: ruff"
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

rules: setup ## list the rules of the specification that no test names
	@$(BIN)/python tests/rules/open_rules.py

demo: setup ## play an agent's turns against a server of its own, and tell what happens
	@$(BIN)/python tests/demo

serve-help: setup ## say how to start the server
	@echo "Start the server: $(BIN)/agent-memory serve --data ./agent-memory-data --port 8080"
	@$(BIN)/agent-memory serve --help

bench-quality: setup ## how well searches find: make bench-quality DATA=<folder of data sets> [ONE=<name in the table>]
	@test -n "$(DATA)" || { echo "Name the folder of data sets: make bench-quality DATA=<folder>" >&2; exit 2; }
	@echo "bench-quality: $(or $(ONE),every data set) in $(DATA), by words, by meaning, by both"
	@$(BIN)/python tests/performance/quality.py "$(DATA)" $(if $(ONE),"$(ONE)")

bench-latency: setup ## how fast recalls and turns are, at 1,000 to 100,000 records
	@echo "bench-latency: recalls and turns at 1,000, 10,000 and 100,000 records"
	@$(BIN)/python tests/performance/latency.py

bench-units: setup ## what each route costs in DynamoDB's request units
	@echo "bench-units: every route once, over the one-machine table, counted by item sizes"
	@$(BIN)/python tests/performance/units.py

review-agreement: setup ## how well a reviewer judges: make review-agreement REVIEWER=openai:<url> MODEL=<name>
	@test -n "$(REVIEWER)" || { echo "Name the reviewer: make review-agreement REVIEWER=rules, or openai:<url> MODEL=<name>, or bedrock:<model>" >&2; exit 2; }
	@echo "review-agreement: what $(REVIEWER) makes of the conversations in tests/reviews"
	@$(BIN)/python tests/reviews/agreement.py "$(REVIEWER)" $(if $(MODEL),"$(MODEL)")

learn: TURNS ?= 1000
learn: setup ## what many turns that say the same come to, and what their reviews ask: make learn TURNS=1000
	@$(BIN)/python tests/performance/learning.py --turns $(TURNS)

SEED = $(shell date +%s)
soak: STEPS ?= 10000
soak: setup ## hold the product under faults against a model of the rules: make soak STEPS=100000 SEED=7
	@PYTHONPATH=tests $(BIN)/python -m soak --steps $(STEPS) --seed $(SEED)

# A file of pins that names no registry; without extras, which pip refuses in constraints.
constraints: setup ## pin all dependencies anew in constraints.txt
	@echo "constraints: the newest releases that pyproject.toml allows, for every platform"
	@$(UV) pip compile pyproject.toml --output-file constraints.txt --upgrade --all-extras --universal \
	  --python-version 3.11 --strip-extras --no-emit-index-url --custom-compile-command "make constraints" > /dev/null
	@$(UV) pip compile tests/emulator/requirements.in --output-file tests/emulator/requirements.txt --upgrade --universal \
	  --python-version 3.11 --no-emit-index-url --custom-compile-command "make constraints" > /dev/null
