# `make` alone shows what there is. Every target sets up what it needs first; what is there is left alone.
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
SHELL := bash

BIN := .venv/bin
ARGS ?=
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
PIP_COMPILE := CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet

##@ First
help:  ## show this
	@awk -F ':.*## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile
	@printf '\nARGS goes to pytest: make unit ARGS="-k queue -x"\n'

setup:  ## .venv from the lock files, with the package in it; Java if there is none
	@scripts/setup

demo: setup  ## the telemonitoring job on this machine, its primary killed; then the proof that nothing is lost
	$(BIN)/understudy run examples/telemonitoring.yaml --duration 40s --kill beats@15s --output out/demo
	$(BIN)/understudy verify out/demo

##@ Tests, from cheap to dear
test:  ## all of these in this order; the cluster suite if root or KUBECONFIG allow it
	@scripts/test

lint: setup  ## style, types, layers, generated files, links of the docs
	$(BIN)/pip check
	$(BIN)/shellcheck -x scripts/* .ci/run
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/understudy generate --check
	$(BIN)/python charts/generate.py --check
	$(MKDOCS)

unit: setup  ## the core, the model and the simulator: no Spark, no processes
	$(BIN)/pytest -n auto --dist worksteal -m 'not spark and not processes and not helm and not broker and not prometheus and not database and not browser and not slow' $(ARGS)

chart: setup  ## the chart, its alerts and dashboards, and the operator's rights; needs helm and promtool, or root to get them
	@scripts/chart $(ARGS)

spark: setup  ## queries on a real Spark session
	$(BIN)/pytest -m 'spark and not processes' $(ARGS)

brokers: setup  ## Kafka on a real broker that is killed, too, and jobs between topics; needs Maven, or root to install it
	@command -v mvn >/dev/null || scripts/apt-install maven
	$(BIN)/pytest -m 'broker and not slow' $(ARGS)

databases: setup  ## sinks on a real PostgreSQL that is killed, too; needs PostgreSQL, or root to install it
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || scripts/apt-install postgresql
	$(BIN)/pytest -m 'database and not slow' $(ARGS)

browser: setup  ## the console in Debian's Chromium; needs it, or root to install it; SCREENSHOTS=docs/images writes the pictures
	@command -v chromium >/dev/null || scripts/apt-install chromium
	UNDERSTUDY_SCREENSHOTS=$(SCREENSHOTS) $(BIN)/pytest -m browser $(ARGS)

processes: setup  ## whole jobs in local processes, with kills
	$(BIN)/pytest -m 'processes and not slow' --durations=30 $(ARGS)

e2e: setup  ## the cluster suite: on your cluster if KUBECONFIG is set, else (as root) on one of its own
	@KEEP='$(KEEP)' scripts/e2e $(ARGS)

drills: setup  ## every mode under every fault in local processes (an hour, or in parts); results go to docs/drills.md
	UNDERSTUDY_DRILLS=build/drills $(BIN)/pytest -m processes operator/tests/drills $(ARGS)
	$(BIN)/pytest -m 'processes and slow' --ignore operator/tests/drills $(ARGS)

share: setup  ## one share of what is marked slow: the one whose turn it is, or N=3; ARGS=--list shows all
	@KEEP='$(KEEP)' PYTHONPATH=operator $(BIN)/python -m tests.shares $(N) $(ARGS)

explore: setup  ## thousands of random fault schedules on the protocol core, and every deliberate mistake (minutes)
	UNDERSTUDY_SEEDS=$(or $(SEEDS),2000) $(BIN)/pytest operator/tests/simulation/test_faults.py $(ARGS)

mutants: setup  ## every guard and comparison of the core changed, one at a time (hours, or in parts); SAMPLE=20 runs so many
	PYTHONPATH=operator $(BIN)/python -m tests.mutants $(if $(SAMPLE),\
	    --sample $(SAMPLE) --draw "$$(git rev-parse HEAD)",\
	    --record build/mutants.jsonl --page docs/simulation/mutants.md) $(ARGS)

chaos: setup  ## random drills on the cluster for DURATION seconds; the table goes to PAGE, build/chaos.md; needs root
	e2e/cluster/build && e2e/cluster/up "$$(images/build)" && \
	e2e/cluster/run $(BIN)/python e2e/chaos.py --page $(or $(PAGE),build/chaos.md) \
	    --seconds $(or $(DURATION),300) $(if $(SEED),--seed $(SEED)) $(JOBS); \
	status=$$?; e2e/cluster/down; exit $$status

##@ Cluster
plugin: setup  ## the kubectl plugin as one file without Spark, and its krew manifest, in build/plugin; URI= where it will be
	$(BIN)/python plugin/build.py $(if $(URI),--uri '$(URI)') $(ARGS)

cluster-up: setup  ## a three-node Kubernetes on this machine, with the image loaded; needs root
	e2e/cluster/up "$$(images/build)"

cluster-down:  ## take it down; nothing is left behind
	e2e/cluster/down

scale: setup  ## what the operator costs with 200 jobs on pretended nodes; needs root
	e2e/cluster/build && e2e/cluster/up && e2e/cluster/run $(BIN)/python e2e/scale.py $(ARGS); \
	status=$$?; e2e/cluster/down; exit $$status

image: setup  ## the image of operator and runtime; prints where it is
	images/build

##@ Upkeep
fix: setup  ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: setup  ## the CRDs and everything else that comes from the model
	$(BIN)/understudy generate
	$(BIN)/python charts/generate.py

docs: setup  ## the documentation as a site in build/site; refuses broken links
	$(MKDOCS)
	@printf 'To read it, with its search:  python3 -m http.server --directory build/site --bind 127.0.0.1\n'

lock: setup  ## resolve the dependencies in pyproject.toml anew (minutes); UPGRADE=1 takes the newest versions
	printf 'pip\nsetuptools\n' | $(PIP_COMPILE) $(if $(UPGRADE),--upgrade) -o requirements-build.lock -
	$(PIP_COMPILE) $(if $(UPGRADE),--upgrade) --extra runtime -o requirements.lock pyproject.toml
	$(PIP_COMPILE) $(if $(UPGRADE),--upgrade) --extra runtime --extra dev -c requirements.lock \
	    -o requirements-dev.lock pyproject.toml
	$(PIP_COMPILE) $(if $(UPGRADE),--upgrade) -c requirements.lock -o requirements-kubectl.lock pyproject.toml

clean:  ## remove what the targets above made in this checkout, .venv included
	rm -rf .venv build out .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
	find . -name __pycache__ -prune -exec rm -rf {} +
	rm -rf operator/src/*.egg-info

.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' Makefile)
