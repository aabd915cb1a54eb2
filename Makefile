# Every target does its own set-up. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# `make run` listens where it is told, by make's own variables or by those of the environment that the server reads.
# (Kubernetes, too, may have set ACKLOG_PORT, to an address of a Service, which no port is.)
HOST ?= $(or $(ACKLOG_HOST),127.0.0.1)
PORT ?= $(or $(filter-out tcp://%,$(ACKLOG_PORT)),8080)
DATA_DIR ?= $(or $(ACKLOG_DATA_DIR),./data)
WORKERS ?= auto

# Where this is set, each of the servers that tests and benchmarks start would compile every module anew: it takes
# twice the time until one serves.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-spark sqs-clients check demo cluster-demo spark-demo openapi sqs-shapes faults console-jobs hostile fuzz availability test-thorough sim sim-cluster bench cluster-bench failover-bench spark-bench peers load format clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(BIN)/uv: packaging/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Acklog needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement packaging/uv.txt

$(VENV)/.server-installed: pyproject.toml packaging/acklog/pyproject.toml constraints.txt | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --build-constraint constraints.txt \
	  -e "packaging/acklog[batches,cli]" -e ".[arrow]"
	@touch $@

$(VENV)/.dev-installed: pyproject.toml packaging/acklog/pyproject.toml packaging/acklog-spark/pyproject.toml constraints.txt | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --build-constraint constraints.txt \
	  -e "packaging/acklog[batches,cli]" -e packaging/acklog-spark -e ".[dev]"
	@touch $@ $(VENV)/.server-installed

run: $(VENV)/.server-installed ## set up and run a server (HOST, PORT, DATA_DIR)
	@$(BIN)/acklog serve --host $(HOST) --port $(PORT) --data-dir $(DATA_DIR)

test: $(VENV)/.dev-installed ## set up and run all tests but the longest (some 20 minutes on two cores)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow and not faults and not spark and not hostile" $(ARGS)

test-spark: $(VENV)/.dev-installed ## the tests that need a JVM (minutes): streams that are restarted, workers that are killed
	@$(BIN)/python -m pytest -m spark tests/spark $(ARGS)

sqs-clients: $(BIN)/uv ## clients of SQS for the tests, in build/: Python ones, and by Node, Go and Java where these are there
	@bash tests/integration/sqs/clients/install.sh build/sqs-clients $(abspath $(BIN)/uv)

check: $(VENV)/.dev-installed ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev-installed ## bring the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

openapi: $(VENV)/.dev-installed ## write openapi.yaml from the app
	$(BIN)/python -m app.http.openapi_file > openapi.yaml

sqs-shapes: $(VENV)/.dev-installed ## write the types of SQS's calls from their description
	$(BIN)/python -m app.sqs.description.shape_writer > $(VENV)/sqs-shapes.py && mv $(VENV)/sqs-shapes.py app/sqs/shapes.py

demo: $(VENV)/.dev-installed ## the flights through a server that is killed twice, verified
	@$(BIN)/python -m examples.flights $(ARGS)

cluster-demo: $(VENV)/.dev-installed ## the flights through a cluster that is killed bit by bit, verified
	@$(BIN)/python -m examples.flights --cluster $(ARGS)

spark-demo: $(VENV)/.dev-installed ## the flights into Parquet by Spark while the server is killed, verified (needs Java 17)
	@$(BIN)/python -m examples.spark_flights $(ARGS)

bench: $(VENV)/.dev-installed ## rates and latencies beside the machine's limits
	@$(BIN)/python -m loadtests.bench $(ARGS)

cluster-bench: $(VENV)/.dev-installed ## a local cluster's rates and latencies beside the embedded server
	@$(BIN)/python -m loadtests.cluster_bench $(ARGS)

failover-bench: $(VENV)/.dev-installed ## 1,000 partitions on nodes that are killed and stopped
	@$(BIN)/python -m loadtests.failover_bench $(ARGS)

spark-bench: $(VENV)/.dev-installed ## how fast Spark reads topics, beside a bare client and Parquet (needs Java 17)
	@$(BIN)/python -m loadtests.spark_bench $(ARGS)

peers: $(VENV)/.dev-installed ## other durable brokers beside Acklog, into docs/benchmarks.md (ROUNDS=3, SECONDS=5, BROKERS=acklog,redis)
	@bash loadtests/peers/install.sh build/peers
	@$(BIN)/python -m loadtests.peers --programs build/peers --rounds $(or $(ROUNDS),3) --seconds $(or $(SECONDS),5) $(if $(BROKERS),--brokers $(BROKERS)) --json build/peers/results.json $(ARGS); \
	  status=$$?; $(BIN)/python -m loadtests.peers.render build/peers/results.json && exit $$status

load: $(VENV)/.dev-installed ## users against a server of their own (PROFILE=web|batch|workers|dashboards|mixed)
	@$(BIN)/python -m loadtests.run_load --profile $(or $(PROFILE),mixed) $(ARGS)

sim: $(VENV)/.dev-installed ## 500 simulated seeds (SEEDS=0..499)
	@$(BIN)/python -m tests.sim --seeds $(or $(SEEDS),0..499) --processes 2

sim-cluster: $(VENV)/.dev-installed ## the same of a whole cluster (SEEDS=0..1999)
	@$(BIN)/python -m tests.sim --cluster --seeds $(or $(SEEDS),0..1999) --processes 2

faults: $(VENV)/.dev-installed ## minutes of kills, pauses, cuts, full disks and power losses on real clusters
	@$(BIN)/python -m pytest -m faults tests/integration $(ARGS)

console-jobs: $(VENV)/.dev-installed ## the console's main jobs in every look and with every right (minutes)
	@$(BIN)/python -m pytest tests/integration/console/jobs $(ARGS)

hostile: $(VENV)/.dev-installed ## minutes of attacks on a server, with an honest client beside them
	@$(BIN)/python -m pytest -m hostile tests/integration/hostile $(ARGS)

fuzz: $(VENV)/.dev-installed ## every parser with inputs that coverage leads to (SECONDS=60 for each; TARGET=filters)
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),60) $(if $(TARGET),--target $(TARGET))

availability: $(VENV)/.dev-installed ## how available a cluster is while one thing after the other fails (4 minutes)
	@$(BIN)/python -m tests.integration.cluster.availability $(ARGS)

test-thorough: $(VENV)/.dev-installed ## the property tests with thousands of examples, and what is marked slow
	@ACKLOG_LOG_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) tests/property --timeout 3600
	@ACKLOG_LOG_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) tests/unit/storage/log/test_damage.py
	@ACKLOG_LOG_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile tests/integration/test_openapi.py --timeout 3600
	@$(BIN)/python -m pytest -m slow

clean: ## remove what was built, not the data
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
