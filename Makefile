# The project's commands. `make help` lists them. A fresh clone needs python3 (3.11 or newer), gcc and make; what else is
# missing is installed by the system's package manager where it may be, or named in one line.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
BROKER ?= embedded
KILLS  ?= 0
RESOLVE := $(PY) -m tests.brokers --resolve
# Processes of `make test`, each with real brokers of its own.
WORKERS ?= 2
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export KWIRE_CACHE ?= $(CURDIR)/.cache

EXTENSION_SOURCES := setup.py $(wildcard src/kwire/*.pyx src/kwire/*.pxd src/kwire/_pxi/*/*)

.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: python
python:
	@scripts/ensure python "$(PYTHON)"

.PHONY: java
java:  ## Java 17 or newer and Maven, for Spark and real Kafka
	@scripts/ensure java

$(VENV)/.ready: pyproject.toml | python
	@$(PYTHON) -m venv $(VENV)
	@scripts/with-progress "pip in $(VENV)" $(PY) -m pip install -q --upgrade "pip>=25.1"
	@scripts/with-progress "PySpark, pandas, pyarrow and Cython into $(VENV): 1 GB, a minute" \
		$(PY) -m pip install -q --group build --group spark
	@touch $@

$(VENV)/.tests-ready: $(VENV)/.ready
	@scripts/with-progress "what tests and checks need, into $(VENV): half a minute" \
		$(PY) -m pip install -q --group test --group check
	@touch $@

$(VENV)/.bench-ready: $(VENV)/.tests-ready
	@scripts/with-progress "what the benchmarks need, into $(VENV)" $(PY) -m pip install -q --group bench
	@touch $@

$(VENV)/.site-ready: $(VENV)/.ready
	@scripts/with-progress "what the site is built with, into $(VENV)" $(PY) -m pip install -q --group site
	@touch $@

$(VENV)/.built: $(VENV)/.ready $(EXTENSION_SOURCES)
	@scripts/with-progress "the extensions: Cython, then the C compiler; a minute and a half" \
		$(PY) -m pip install -q --no-build-isolation -e .
	@touch $@

.PHONY: extension
extension: $(VENV)/.built

.PHONY: build
build: extension $(VENV)/.tests-ready  ## the environment and the extensions, in the tree

.PHONY: kerberos
kerberos: $(VENV)/.kerberos-tried

# Once: tests of Kerberos are skipped where it could not be installed.
$(VENV)/.kerberos-tried: $(VENV)/.tests-ready
	@scripts/ensure kerberos
	@$(PY) -m pip install -q --group kerberos >$(VENV)/kerberos.log 2>&1 || \
		echo "kwire: Python's gssapi could not be built ($(VENV)/kerberos.log); tests of Kerberos are skipped"
	@touch $@

# Tests of the dashboard and the alerts are skipped where it could not be installed.
.PHONY: prometheus
prometheus:
	@scripts/ensure prometheus

.PHONY: demo
demo: extension java  ## a million records from a producer to a PySpark job (BROKER=embedded or BROKER=kafka)
	@if [ $(BROKER) = kafka ]; then scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE) 4.4.0; fi
	@$(PY) -m demo --broker $(BROKER)

.PHONY: demo-cluster
demo-cluster: build java  ## a streaming job, exactly once, on a Spark cluster with three brokers (KILLS=30: while processes are killed)
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE) 4.4.0
	@$(PY) -m demo.cluster --kills $(KILLS)

.PHONY: test
test: build java kerberos  ## the tests of every push, with one real Kafka and one Spark: some minutes
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE) 4.4.0
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

.PHONY: test-all
test-all: build java kerberos prometheus  ## all tests: five releases, peers, Apache's classes, kills, more random cases
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE)
	@KWIRE_THOROUGH=1 $(PY) -m pytest --nightly -m "not kafka_all" -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

# The commit that a change begins at.
BASE ?= HEAD~1

.PHONY: test-touched
test-touched: build java kerberos  ## what a change may break beyond `make test` (BASE=main; the last commit by default)
	@scripts/test-touched "$(PY)" "$(BASE)" $(PYTEST_ARGS)

.PHONY: test-quick
test-quick: build  ## the tests that need no Java
	@$(PY) -m pytest -m "not kafka and not kafka_all and not spark" -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

.PHONY: test-brokers
test-brokers: build java kerberos  ## exchange with every Kafka release of the matrix, 0.8.0 to 4.4.0
	@scripts/with-progress "Apache Kafka, every release, once, into $(KWIRE_CACHE)" $(RESOLVE) all
	@$(PY) -m pytest --nightly -m "kafka or kafka_all" tests/brokers tests/testing/like_kafka/test_like_kafka.py $(PYTEST_ARGS)

.PHONY: test-spark
test-spark: build java  ## the tests of the Spark source with PySpark 4.0, 4.1, 4.2 and 4.3 (SPARK_VERSIONS="4.0 4.2")
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE)
	@scripts/test-spark "$(PY)" "$(KWIRE_CACHE)" $(PYTEST_ARGS)

.PHONY: test-soak
test-soak: build java  ## real Kafka under many more kills, Spark beside its own connector, in some hours
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE)
	@KWIRE_THOROUGH=1 KWIRE_SOAK=1 $(PY) -m pytest --nightly tests/brokers/groups tests/brokers/transactions \
		tests/spark/connector tests/spark/exactly_once tests/clients/test_producer_scheduling.py \
		tests/codec/test_accumulator_scheduling.py $(PYTEST_ARGS)

.PHONY: chaos
chaos: build java  ## seeded faults over three real nodes, judged from the clients' histories: ten minutes (CHAOS_S, CHAOS_SEED)
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE) 4.4.0
	@$(PY) -m tests.chaos $(CHAOS_ARGS)

.PHONY: kills
kills: build java  ## a million records under 50 kills of brokers, beside librdkafka and Java: ten minutes (KILLS, RECORDS)
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE) 4.4.0
	@$(PY) -m tests.kills $(KILLS_ARGS)

# How many seconds `make soak` takes.
SOAK_S ?= 3600

.PHONY: soak
soak: build  ## a mixed load for an hour, and whether anything grows (SOAK_S; BROKER=embedded or BROKER=kafka)
	@if [ $(BROKER) = kafka ]; then scripts/ensure java; \
		scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE) 4.4.0; fi
	@$(PY) -m tests.soak --seconds $(SOAK_S) --broker $(BROKER)

.PHONY: test-asan
test-asan: build  ## the codec under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/ensure sanitizers
	@scripts/test-asan "$(PY)" $(PYTEST_ARGS)

.PHONY: test-tsan
test-tsan: build  ## threads that share clients, drivers and memory, under ThreadSanitizer
	@scripts/ensure sanitizers
	@scripts/test-tsan "$(PY)" $(PYTEST_ARGS)

# How many seconds `make fuzz` takes beside its builds.
FUZZ_S ?= 600

.PHONY: fuzz
fuzz: build  ## coverage-guided fuzzing of all that kwire parses, with clang (FUZZ_S=3600, FUZZ_ARGS="records messages")
	@scripts/ensure clang
	@$(PY) -m tests.fuzz --seconds $(FUZZ_S) $(FUZZ_ARGS)

.PHONY: test-oldest
test-oldest: build  ## the codec with the oldest dependencies that pyproject.toml allows
	@scripts/test-oldest "$(PY)" $(PYTEST_ARGS)

.PHONY: test-plain
test-plain: build  ## the codec, the schema and the clients without the allocator tricks
	@scripts/test-plain "$(PY)" $(PYTEST_ARGS)

# What `make test-pythons` tests on.
PYTHONS ?= 3.11 3.12 3.13 3.14

.PHONY: test-pythons
test-pythons:  ## wheels for each Python that is here, and what needs no Java with them (PYTHONS="3.12 3.13")
	@scripts/test-pythons "$(PYTHONS)" $(PYTEST_ARGS)

.PHONY: check
check: build  ## lint, format, types, stubs, layer contracts, the seam of the compiled halves
	@ruff check .
	@ruff format --check .
	@$(PY) -m scripts.generated --check
	@cython-lint src/kwire/*.pyx src/kwire/*.pxd src/kwire/_pxi/*/*.pxi tests/fuzz/_pxi/*.pxi
	@mypy
	@basedpyright
	@lint-imports
	@$(PY) scripts/check_snippets.py
	@$(PY) -m mypy.stubtest kwire._codec kwire._values --ignore-disjoint-bases --mypy-config-file pyproject.toml \
		--allowlist tests/typing/stubtest-allowlist.txt
	@$(PY) -m pytest -q tests/test_layers.py tests/test_compiled_halves.py tests/test_files_page.py

.PHONY: docs
docs: build  ## what is generated from code: pages, stubs, keywords and numbers, the coroutines of kwire.aio
	@$(PY) -m scripts.generated

# mkdocs-material announces its successor at each start.
.PHONY: site
site: $(VENV)/.site-ready  ## the documentation as a web site, into build/site; what is not in order is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

.PHONY: bench
bench: build $(VENV)/.bench-ready  ## the same work through kwire and its peers: tables, data file, plots (BENCH_ARGS=--quick)
	@$(PY) -m benchmarks.compare --publish $(BENCH_ARGS)

.PHONY: bench-spark
bench-spark: build java  ## the same Spark jobs through kwire and Spark's own Kafka connector (BENCH_ARGS=--quick, --publish)
	@scripts/with-progress "Apache Kafka, once, into $(KWIRE_CACHE)" $(RESOLVE)
	@$(PY) -m benchmarks.spark $(BENCH_ARGS)

.PHONY: bench-codec
bench-codec: build $(VENV)/.bench-ready  ## the codec's benchmarks by pytest-benchmark
	@$(PY) -m pytest benchmarks/bench_*.py -q --benchmark-only --benchmark-max-time=0.3 \
		--benchmark-columns=median,iqr,rounds $(PYTEST_ARGS)

.PHONY: bench-instructions
bench-instructions: build  ## instructions of the hot loops against the committed counts (BENCH_ARGS=--update commits new ones)
	@scripts/ensure valgrind
	@$(PY) -m benchmarks.instructions --optional $(BENCH_ARGS)

.PHONY: wheel
wheel: $(VENV)/.tests-ready  ## sdist, the wheel from the sdist, checked, and tried in a bare environment
	@scripts/build-wheel "$(PY)" wheel

.PHONY: sdist
sdist: $(VENV)/.tests-ready  ## sdist, the same bytes whenever it is made of one commit
	@scripts/build-wheel "$(PY)" sdist

.PHONY: wheel-twice
wheel-twice: $(VENV)/.tests-ready  ## two wheels from one sdist, which have to be the same bytes
	@scripts/build-wheel "$(PY)" twice

.PHONY: clean
clean:  ## what was built; the environment and the broker cache stay
	rm -rf build dist src/kwire/_*.c src/kwire/*.so src/*.egg-info $(VENV)/.built
