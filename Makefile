# Every target sets up what it needs on a fresh machine: Python 3.11 or later with venv, make and bash are enough.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
EXTRAS ?= dev,service,plots,inspect
BENCHMARK_EXTRAS ?= kafka,spark
BENCH_ARGS ?=
RELEASE ?= dist/release

BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready
FUZZ_READY := .venv/.fuzz-ready
RELEASE_READY := .venv/.release-ready
PIP := -m pip --quiet --disable-pip-version-check
# Most modules of large packages are never imported, and each import compiles its own.
INSTALL := $(PIP) install --no-compile -c constraints.txt
WHEEL := build/wheel
WHEEL_BIN := $(WHEEL)/venv/bin
JAVA_BUILT := java/target/.built
# Programs that run for a minute gain nothing by the optimising compiler.
LIGHT_JVM := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
JAVA_SOURCES := $(shell find java -name target -prune -o -type f -print)
# Tests of real things mostly wait, so more workers than cores pay.
WORKERS ?= 4

# An environment that happens to be active must not leak into ours. Without bytecode each of the many processes that tests
# start would compile all modules anew.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-long test-wheel test-java lint policy tables format docs java release audit bench attacks fuzz mutants soak clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(READY)  ## .venv with everything, pinned by constraints.txt

# The builder is installed first and used without isolation, so that constraints.txt pins it too.
$(READY): pyproject.toml benchmarks/pyproject.toml constraints.txt
	@echo "Setting up .venv (once, a minute or two)"
	@$(PYTHON) -c 'import sys; sys.exit("optassign needs Python 3.11 or later: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python $(INSTALL) setuptools
	@$(BIN)/python $(INSTALL) --no-build-isolation -e '.[$(EXTRAS)]' -e './benchmarks[$(BENCHMARK_EXTRAS)]'
	@touch $@

demo: $(READY)  ## a recorded scale-out under Kafka's default assignor and under optassign
	@$(BIN)/optassign demo

# pytest comes last, so that its closing line closes the output.
test: $(READY)  ## before every commit: lint, the wheel, Java's own tests, all pure tests, enough of each real thing
	@$(MAKE) --no-print-directory -j 2 lint test-wheel test-java
	$(BIN)/pytest -n $(WORKERS) -m 'not long and not wheel'

test-long: $(READY) test-wheel  ## before a release: faults, long histories, every real thing, all pure tests on the wheel
	@$(WHEEL_BIN)/python $(INSTALL) $(WHEEL)/dist/benchmarks/*.whl  # these tests use its snapshots
	cd $(WHEEL)/run && ../venv/bin/pytest -n 2 -m 'not long' $(addprefix tests/,$(PURE))
	$(BIN)/pytest -n $(WORKERS) -m long

# In a folder without the sources, in an environment that has the wheel, what the wheel asks for and the test tools.
# The wheel is built from the sdist, so this proves both complete.
ON_WHEEL := project/test_wheel.py cli/test_demo.py cli/answers/test_assign.py
PURE := project/test_import.py cli/answers assignors formats generating goals judging models recordings simulation solving
test-wheel: $(READY) $(WHEEL)/venv/.ready  ## build sdist and wheel, import every module of the wheel, run its commands
	@rm -rf $(WHEEL)/dist $(WHEEL)/run
	@echo "Building sdist and wheel into $(WHEEL)/dist"
	@$(BIN)/python -m build --no-isolation --outdir $(WHEEL)/dist . > $(WHEEL)/build.log 2>&1 || { cat $(WHEEL)/build.log; exit 1; }
	@$(BIN)/python -m build --no-isolation --outdir $(WHEEL)/dist/benchmarks benchmarks > $(WHEEL)/build.log 2>&1 || { cat $(WHEEL)/build.log; exit 1; }
	@$(WHEEL_BIN)/python $(PIP) --quiet uninstall --yes optassign optassign-benchmarks  # else pip keeps the old one: the version is the same
	@$(WHEEL_BIN)/python $(INSTALL) $(WHEEL)/dist/*.whl
	$(WHEEL_BIN)/python -m pip check
	@mkdir $(WHEEL)/run
	@cp -R pyproject.toml tests $(WHEEL)/run
	cd $(WHEEL)/run && OPTASSIGN_DIST=../dist ../venv/bin/pytest $(addprefix tests/,$(ON_WHEEL))

$(WHEEL)/venv/.ready: pyproject.toml constraints.txt
	@echo "Setting up $(WHEEL)/venv (once)"
	@rm -rf $(WHEEL)/venv
	@$(PYTHON) -m venv $(WHEEL)/venv
	@$(WHEEL_BIN)/python $(INSTALL) hypothesis jsonschema pytest pytest-xdist
	@touch $@

lint: $(READY)  ## ruff, mypy, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

policy: $(READY)  ## constants of Python and Java made anew of models/optassign_models/policy/policy.toml
	$(BIN)/python -m optassign_benchmarks.policy

tables: $(READY)  ## tables of the reference made anew of the code that they describe
	$(BIN)/python docs/site/reference_tables.py

format: $(READY)  ## put the sources into shape; those in Java only where Maven is installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	if command -v mvn > /dev/null; then mvn -q -B -f java/pom.xml spotless:apply; fi

docs: $(DOCS_READY)  ## the site, in build/site; a dead link fails. To look at it: python3 -m http.server -d build/site
	@mkdir -p build
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict > build/site.log 2>&1 || { cat build/site.log; exit 1; }
	@echo "build/site"

$(DOCS_READY): $(READY)
	@echo "Setting up what builds the site (once)"
	@$(BIN)/python $(INSTALL) --no-build-isolation -e '.[docs]'
	@touch $@

java: $(JAVA_BUILT)  ## the Java modules and their tests, if a source has changed; needs a JDK 17 or later and Maven

# The stamp tells optassign/assignors/baselines/jvm.py and benchmarks/optassign_benchmarks/kafka/jars.py that they need not build again.
$(JAVA_BUILT): $(JAVA_SOURCES)
	@mkdir -p build $(@D)
	@echo "Building the Java modules and running their tests"
	@MAVEN_OPTS="$(LIGHT_JVM) $${MAVEN_OPTS:-}" mvn -q -B -f java/pom.xml package > build/java.log 2>&1 || { grep -m 40 -E '^\[ERROR\]' build/java.log || tail -n 40 build/java.log; exit 1; }
	@touch $@

test-java:  # what it leaves out is said by the tests in tests/java
	@if command -v mvn > /dev/null && command -v javac > /dev/null; then $(MAKE) --no-print-directory java; fi

# Tests are no part of it: `make test` has run before.
release: $(RELEASE_READY)  ## all that is published, in dist/release or RELEASE (docs/get-started/install.md); needs a JDK 17 or later and Maven
	@$(BIN)/python .ci/build_release.py $(RELEASE)

audit: $(RELEASE_READY)  ## whether a known weakness is in what constraints.txt pins; needs the database of the package index
	@$(BIN)/python .ci/audit.py

$(RELEASE_READY): $(READY)
	@echo "Setting up what describes and audits a release (once)"
	@$(BIN)/python $(INSTALL) --no-build-isolation -e '.[release]'
	@touch $@

bench: $(READY)  ## the benchmark; BENCH_ARGS is passed on
	$(BIN)/python -m optassign_benchmarks $(BENCH_ARGS)

attacks: $(READY)  ## what attackers do to the service, and what an innocent plug-in notices
	$(BIN)/python tests/attacks/run.py

fuzz: $(FUZZ_READY)  ## random input for MINUTES (default 5), each case with a seed
	$(BIN)/python tests/fuzz/run.py --minutes $(or $(MINUTES),5)

mutants: $(READY)  ## whether the tests catch small faults in the sources; writes to RESULTS (default build/mutants/results.jsonl)
	@mkdir -p build/mutants
	$(BIN)/python tests/mutants/run.py --results $(or $(RESULTS),build/mutants/results.jsonl)

$(FUZZ_READY): $(READY)
	@echo "Setting up what makes requests by the OpenAPI description (once)"
	@$(BIN)/python $(INSTALL) --no-build-isolation -e '.[fuzz]'
	@touch $@

soak: $(READY)  ## service, broker and application under faults for MINUTES (default 60): what grows; needs a JDK 17 and Maven
	@mkdir -p build
	$(BIN)/python -m optassign_benchmarks.soak --minutes $(or $(MINUTES),60) --folder build/soak-$$(date +%Y%m%d-%H%M%S)

clean:  ## remove what builds and tests leave; .venv stays
	rm -rf build dist *.egg-info benchmarks/build benchmarks/*.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache java/target java/*/target deploy/examples/*/target
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
