# Starskip: `make night` runs a whole night on the sample, `make test` passes the tests.
# Needed beforehand: Python (3.11, 3.12 or 3.13), Java (17 or 21), make; for the tests also a JDK, Maven,
# Chromium, PostgreSQL and nginx.
# Everything else goes into .venv.

UV       := uv==0.13.9
# Tools of a release, each in an environment of its own: Airflow imports what they bring, which takes it seconds.
TOOL     := .venv/bin/uv tool run --quiet --python .venv/bin/python --from
TWINE    := twine==7.0.0
CYCLONEDX := cyclonedx-bom==7.5.0
PYTHON   := .venv/bin/python
# The Python that .venv is made of. If none is asked for, .venv keeps its own; a new one takes what .ci/find-python finds.
PYTHON3  ?=
INSTALLED := .venv/installed
LAKE     := night/lake/lineitem/part-00095.parquet
CLASSES  := .venv/spark-classes.jsa
DELTA    := .venv/delta/jars.txt
RUN_DATE ?= 2026-11-20
TABLES   ?=
ARGS     ?=
PORT     ?= 8080
# Processes of the tests: one more than two cores, since some tests wait.
TEST_PROCESSES ?= 3
SHARD ?=
MINUTES ?= 30
LAWS ?= 10
TESTED := $(PYTHON) tests/support/timed.py -m pytest --dist loadscope --no-loadscope-reorder -n $(TEST_PROCESSES)

# A hundred programs of a night and of the tests would each compile what they import.
unexport PYTHONDONTWRITEBYTECODE

# Spark of a night on the sample has Delta's connector, which lineitem is read by, and its own classes archived.
night ui: export SPARK_DIST_CLASSPATH := $(CURDIR)/$(dir $(DELTA))*$(addprefix :,$(SPARK_DIST_CLASSPATH))
night ui bench-cluster: export SPARK_SUBMIT_OPTS := "-XX:SharedArchiveFile=$(CURDIR)/$(CLASSES)" -Xlog:cds=off -Xlog:cds+dynamic=off $(SPARK_SUBMIT_OPTS)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup java night test test-all test-touched test-fast test-laws test-matrix lint format bench-advice bench-combined bench-tuner bench-star-tree bench-star-tree-sizes bench-star-tree-advice bench-pinot-star-tree bench-pinot-filters bench-pinot-filters-advice bench-pinot-headline pinot-demo bench-pinot-tree-matching bench-selection bench-applied bench-latency bench-skipping bench-skipping-scale bench-skipping-stores bench-collecting bench-lake-formats bench-lake-listing bench-ui bench-cluster bench-requests bench-airflow bench-intersection bench-install requirements wheel archive settings-page ui clean bench-backfills bench-what-if

help: ## Show what there is to call (this list)
	@echo "Usage: make TARGET [NAME=VALUE ...]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-27s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: java $(INSTALLED) ## Make .venv with everything pinned, and Airflow's database; nothing the second time (PYTHON3=3.13)
	@$(PYTHON) -m starskip.airflow.airflow_database

night: java $(INSTALLED) $(CLASSES) $(DELTA) $(LAKE) ## Run the night on the sample and print the advice (RUN_DATE=2026-11-20 TABLES=lineitem ARGS=)
	@$(PYTHON) -m starskip.airflow.nightly_run --run-date "$(RUN_DATE)" --tables "$(TABLES)" $(ARGS)

test: java $(INSTALLED) $(CLASSES) ## Run the tests of each day, laws with few cases (ARGS="tests/sql -k name" TEST_PROCESSES=3)
	@STARSKIP_LAWS=0.2 $(TESTED) -m "not slow" $(ARGS)

test-all: java $(INSTALLED) $(CLASSES) ## Run all tests, or one shard of what make test leaves out (SHARD=3/10 ARGS= TEST_PROCESSES=3)
	@$(TESTED) $(if $(SHARD),--shard $(SHARD)) $(ARGS)

test-touched: $(INSTALLED) ## Run the shards that the last four hours' commits concern, as far as the time goes (MINUTES=30)
	@$(PYTHON) tests/support/shards.py --minutes "$(MINUTES)"

test-fast: $(INSTALLED) ## Run quick tests: no Spark, Airflow, browser, Great Expectations, whole nights and long laws (ARGS=)
	@$(PYTHON) -m pytest -n 2 -m "not spark and not dags and not quality and not ui and not slow" $(ARGS)

test-laws: java $(INSTALLED) $(CLASSES) ## Run the laws with LAWS times as many generated cases, another choice at each run (LAWS=10 ARGS="-k name")
	@STARSKIP_LAWS=$(LAWS) $(PYTHON) -m pytest -n 2 --dist loadscope $$(grep -rl --include='test_*.py' 'law_cases(' tests) $(ARGS)

test-matrix: java $(INSTALLED) ## Run tests on each Python, PySpark and Airflow that is supported, in .matrix (ARGS="--python 3.13 --spark 4.2 tests/sql")
	@$(PYTHON) tests/support/version_matrix.py $(ARGS)

lint: $(INSTALLED) ## Check style, format and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

format: $(INSTALLED) ## Mend what can be mended of style and format
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

bench-advice: $(INSTALLED) ## Print how good the advice is, against every index set that was measured (ARGS=)
	@$(PYTHON) benchmarks/advice.py $(ARGS)

bench-combined: $(INSTALLED) ## Print how often the interval of what all changes save together holds the real saving (ARGS="--logs 40")
	@$(PYTHON) benchmarks/combined_saving.py $(ARGS)

bench-tuner: java $(INSTALLED) ## Print how fast a million log records, or a million shapes, become votes (ARGS=)
	@$(PYTHON) benchmarks/tuner.py $(ARGS)

bench-install: java $(INSTALLED) ## Print what each extra of the wheel costs on each Python, and use what is installed (ARGS="--python 3.12 --extra delta")
	@$(PYTHON) benchmarks/install_sizes.py $(ARGS)

bench-selection: $(INSTALLED) ## Print how fast and how good the one choice is, against enumeration and against one choice after the other (ARGS="--seconds 10")
	@$(PYTHON) benchmarks/selection.py $(ARGS)

bench-what-if: $(INSTALLED) ## Print how fast the page "What if" answers for tables of 2,000 query shapes (ARGS="--shapes 1000")
	@$(PYTHON) benchmarks/what_if.py $(ARGS)

bench-star-tree: java $(INSTALLED) ## Print what star-trees of lineitem cost and give, beside DuckDB and Spark (ARGS="--factors 8")
	@$(PYTHON) benchmarks/star_tree.py $(ARGS)

bench-pinot-star-tree: java $(INSTALLED) ## Print our star-trees beside those of a real Pinot 0.11; needs Maven (ARGS="--factor 0.01")
	@$(PYTHON) benchmarks/pinot_star_tree.py $(ARGS)

bench-pinot-filters: java $(INSTALLED) ## Print predicted beside measured entries of generated filters in a real Pinot 0.11; needs Maven (ARGS="--seed 2")
	@$(PYTHON) benchmarks/pinot_filters.py $(ARGS)

bench-pinot-filters-advice: java $(INSTALLED) ## Print what advised indexes save in a real Pinot 0.11, beside the best ones; needs Maven (ARGS="--seed 2")
	@$(PYTHON) benchmarks/pinot_filters_advice.py $(ARGS)

pinot-demo: java $(INSTALLED) ## Show the loop on a real Pinot: pull, advise, approve, apply, prove; before and after on one page (ARGS="--page report.html")
	@$(PYTHON) benchmarks/pinot_demo.py $(ARGS)

bench-pinot-headline: java $(INSTALLED) ## Print what the sample's advice says that it saves, beside what a real Pinot 0.11 then scans; needs Maven (ARGS="--tables lineitem")
	@$(PYTHON) benchmarks/pinot_headline.py $(ARGS)

bench-applied: java $(INSTALLED) ## Print what advice for the sample's tables really saves in a real Pinot 0.11, beside Pinot's own recommender; needs Maven (ARGS="--tables lineitem")
	@$(PYTHON) benchmarks/applied.py $(ARGS)

bench-latency: java $(INSTALLED) ## Print milliseconds promised beside measured ones of index sets in a real Pinot 0.11 of 8 M rows, in an hour; needs Maven (ARGS="--table orders --keep DIR")
	@$(PYTHON) benchmarks/latency.py $(ARGS)

bench-intersection: java $(INSTALLED) ## Print what intersecting secondary indexes wins, how good the choice is, peers, and growth; needs PostgreSQL (ARGS="--part 2")
	@$(PYTHON) benchmarks/intersection.py $(ARGS)

bench-pinot-tree-matching: java $(INSTALLED) ## Print which queries a real Pinot 0.11 answers from star-trees, and what it reads; needs Maven (ARGS="--seed 2")
	@$(PYTHON) benchmarks/pinot_tree_matching.py $(ARGS)

bench-star-tree-sizes: $(INSTALLED) ## Print how well sizes of star-trees are known before they are built (ARGS="--configs 70")
	@$(PYTHON) benchmarks/star_tree_sizes.py $(ARGS)

bench-star-tree-advice: $(INSTALLED) ## Print how good recommended star-trees are, against all trees and Pinot's default one (ARGS=)
	@$(PYTHON) benchmarks/star_tree_advice.py $(ARGS)

bench-skipping: java $(INSTALLED) ## Print what data skipping saves, beside Spark, Delta and Iceberg; needs Maven (ARGS="--files 200")
	@$(PYTHON) benchmarks/data_skipping.py $(ARGS)

bench-skipping-scale: java $(INSTALLED) ## Print what planning costs with up to a million files (ARGS="--files 1000")
	@$(PYTHON) benchmarks/data_skipping_scale.py $(ARGS)

bench-skipping-stores: java $(INSTALLED) ## Print what planning costs by metadata in Parquet and in OpenSearch; needs Maven (ARGS="--files 1000")
	@$(PYTHON) benchmarks/skipping_stores.py $(ARGS)

bench-collecting: java $(INSTALLED) ## Print the peak memory of collecting indexes of millions of distinct values (ARGS="--rows 100000000 --indexes bloom:id")
	@$(PYTHON) benchmarks/collecting.py $(ARGS)

bench-lake-formats: java $(INSTALLED) ## Print what skipping adds to Delta and to Iceberg; needs Maven (ARGS="--files 200 --rows 2000 --planned 20000")
	@$(PYTHON) benchmarks/lake_formats.py $(ARGS)

bench-lake-listing: $(INSTALLED) ## Print how long a Delta and an Iceberg table of 100,000 files take to be listed, and the memory (ARGS="--files 1000000")
	@$(PYTHON) benchmarks/lake_listing.py $(ARGS)

bench-ui: java $(INSTALLED) ## Print the time and bytes of each report page over 1,000 tables and 365 nights (ARGS="--tables 200")
	@$(PYTHON) benchmarks/report_pages.py $(ARGS)

bench-cluster: java $(INSTALLED) $(CLASSES) ## Print what each stage and gate costs over a made-up cluster, tonight and tomorrow (ARGS="--tables 200 --segments 100000 --keep DIR")
	@$(PYTHON) benchmarks/cluster.py $(ARGS)

bench-requests: java $(INSTALLED) ## Print how many requests a night sends to an object store, by the number of tables (ARGS="--tables 5,20")
	@$(PYTHON) benchmarks/store_requests.py $(ARGS)

bench-airflow: java $(INSTALLED) ## Print what a night of 200 tables costs in a real Airflow on PostgreSQL, a group and a table failing alone (ARGS="--tables 40 --keep DIR")
	@$(PYTHON) benchmarks/airflow_tables.py $(ARGS)

bench-backfills: $(INSTALLED) ## Create fifty backfills beside Airflow's page on its SQLite file, and count what goes wrong (ARGS="--tries 20")
	@$(PYTHON) benchmarks/backfills.py $(ARGS)

requirements: $(INSTALLED) ## Resolve requirements.in and requirements-dev.in anew into the pinned .txt files, for each Python
	@.venv/bin/uv pip compile --quiet --no-header --no-annotate --universal --python-version 3.11 requirements.in -o requirements.txt
	@grep -v '^-e' requirements.txt | .venv/bin/uv pip compile --quiet --no-header --no-annotate --universal --python-version 3.11 -c - requirements-dev.in -o requirements-dev.txt

archive: $(INSTALLED) ## Pack a Python environment with Starskip for nodes of YARN or EMR that have none: dist/environment.tar.gz
	@rm -rf .venv/archive
	@.venv/bin/uv build --quiet --wheel --out-dir .venv/archive/wheel
	@.venv/bin/uv venv --quiet --relocatable --python $(PYTHON) .venv/archive/environment
	@grep -v '^-e' requirements.txt | .venv/bin/uv pip install --quiet --python .venv/archive/environment .venv/archive/wheel/*.whl -c -
	@mkdir -p dist
	@tar -C .venv/archive/environment -czf dist/environment.tar.gz .

# The list of what it depends on is that of an environment with the pinned versions, whose licences are in it.
wheel: $(INSTALLED) ## Build the release into dist: wheel, source distribution, and the list of what it depends on (SBOM)
	@rm -rf dist .venv/release
	@.venv/bin/uv build --quiet --out-dir dist
	@$(TOOL) $(TWINE) twine check --strict dist/*.whl dist/*.tar.gz
	@.venv/bin/uv venv --quiet --python $(PYTHON) .venv/release
	@grep -v '^-e' requirements.txt | .venv/bin/uv pip install --quiet --python .venv/release --all-extras -r pyproject.toml -c -
	@$(TOOL) $(CYCLONEDX) cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --output-file "dist/starskip-$$(.venv/bin/uv version --short).cdx.json" .venv/release
	@rm -r .venv/release
	@ls dist

settings-page: $(INSTALLED) ## Write docs/settings.md anew, out of the declarations of the settings
	@.venv/bin/starskip settings --format markdown > docs/settings.md

ui: java $(INSTALLED) $(CLASSES) $(DELTA) $(LAKE) ## Start Airflow's web page for this checkout, until Ctrl-C (PORT=8080)
	@$(PYTHON) -m starskip.airflow.airflow_ui --port "$(PORT)"

clean: ## Remove what nights and tools have made; .venv, .matrix and .submitters stay
	rm -rf .airflow night spark-warehouse dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(DELTA): $(INSTALLED)
	@echo "Fetching Delta's connector for Spark, once; 14 MB"
	@$(PYTHON) include/sample/delta_connector.py $@

# The rows of the sample's lineitem, generated here in 96 files: 10 MB, seconds. In place when they are whole.
$(LAKE): | $(INSTALLED) $(DELTA)
	@echo "Generating the sample's lake table, lineitem of TPC-H at factor 0.05"
	@rm -rf $(@D) $(@D).rows $(@D).unfinished
	@.venv/bin/tpchgen-cli parquet -s 0.05 --tables=lineitem --quiet --output-dir=$(@D).rows
	@$(PYTHON) include/sample/lake_table.py $(@D).rows/lineitem.parquet $(@D).unfinished $$(test -s $(DELTA) && echo delta)
	@rm -r $(@D).rows && mv $(@D).unfinished $(@D)

# A night starts Spark ten times, the tests some forty times: half the time of a start is that of loading its classes.
$(CLASSES): $(INSTALLED) include/sample/spark_classes.py | java
	@echo "Archiving Spark's classes, once"
	@$(PYTHON) include/sample/spark_classes.py $@

# A Python that is asked for makes .venv anew if it is made of another.
which_python = $(shell $(1) -c 'import sys; print(sys.base_prefix, sys.version)' 2>/dev/null)
ifneq ($(PYTHON3),)
ifneq ($(call which_python,$$(sh .ci/find-python $(PYTHON3) 2>/dev/null)),$(call which_python,$(PYTHON)))
.PHONY: $(INSTALLED)
endif
endif

$(INSTALLED): requirements.txt requirements-dev.txt pyproject.toml
	@[ -z "$(PYTHON3)" ] && $(PYTHON) -c 'import pip' 2>/dev/null || { \
	  python=$$(sh .ci/find-python $(PYTHON3)) && \
	  echo "Installing into .venv with $$("$$python" --version), once; about 1.2 GB" && \
	  "$$python" -m venv --clear .venv; }
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check "$(UV)"
	@.venv/bin/uv pip install --quiet --python $(PYTHON) -r requirements.txt -r requirements-dev.txt
	@touch $@

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	found=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1); \
	[ "$${found:-0}" -ge 17 ] && [ "$$found" -lt 24 ] || { \
	  echo "Starskip needs Java 17 or 21 for Spark, and found $${found:-none}$${JAVA_HOME:+ in JAVA_HOME}. How to get it:"; \
	  echo "  Debian and Ubuntu: sudo apt-get install openjdk-17-jre-headless"; \
	  echo "  macOS:             brew install openjdk@17, then set JAVA_HOME to \$$(brew --prefix openjdk@17)"; \
	  echo "  anything else:     any build of OpenJDK 17 or 21, unpacked, with JAVA_HOME set to its folder"; \
	  exit 1; } >&2
