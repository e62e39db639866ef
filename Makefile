# What one does with this repository. `make help` lists the targets.

# Debian packages, named here and nowhere else: what the build needs, and what `make test` needs besides.
PACKAGES := libmicrohttpd-dev librdkafka-dev libsimdjson-dev libxxhash-dev pkg-config zlib1g-dev
TEST_PACKAGES := xz-utils nodejs python3-jsonschema python3-yaml python3-confluent-kafka python3-xxhash \
  chromium chromium-driver python3-selenium

# The oldest Swift that will do.
SWIFT_VERSION := 6.2

SWIFT ?= swift
NODE ?= node
# On Debian its own, as that has Debian's modules.
PYTHON ?= $(if $(wildcard /etc/debian_version),/usr/bin/python3,python3)
# Runs a command with a Kafka cluster: the one that FEEDSTORE_TEST_BOOTSTRAP names, or one that stands in for it.
STAND_IN := PYTHONDONTWRITEBYTECODE=1 $(PYTHON) Tests/StandInCluster
ON_CLUSTER = $(if $(FEEDSTORE_TEST_BOOTSTRAP),,$(STAND_IN) --)
SOURCES := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources \
  examples/swift-follower/Package.swift examples/swift-follower/Sources

.DEFAULT_GOAL := help
.PHONY: setup setup-test check-swift build run test test-web test-browser test-schemas test-examples test-cluster example-swift soak format lint check-imports benchmark clean help

# Installs the Debian packages in $(1) that are missing, if any are; asks for the password only then.
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

check-swift:
	@found=$$($(SWIFT) --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1); \
	if [ -z "$$found" ]; then \
	  echo "Swift $(SWIFT_VERSION) or later is needed, and there is no '$(SWIFT)'." >&2; \
	elif [ "$$(printf '%s\n' $(SWIFT_VERSION) $$found | sort -V | head -n 1)" != $(SWIFT_VERSION) ]; then \
	  echo "Swift $(SWIFT_VERSION) or later is needed; '$(SWIFT)' is $$found." >&2; \
	else exit 0; fi; \
	echo "Get it from https://www.swift.org/install/linux/, and put its usr/bin into PATH." >&2; exit 1

build: setup ## build the command for use: .build/release/feedstore
	$(SWIFT) build -c release --product feedstore

run: build ## show it: an embedded broker, sample feeds, the daemon, a follower and the inspector
	@if [ -t 1 ]; then again=--loop; fi; \
	echo ".build/release/feedstore demo $$again"; .build/release/feedstore demo $$again

test: setup-test lint check-imports ## check format and imports, then run all tests
	$(ON_CLUSTER) $(SWIFT) test --skip-build --disable-xctest --skip BrokerTests
	@$(MAKE) --no-print-directory test-cluster test-web test-browser test-schemas test-examples

test-web: setup-test ## run the tests of web/ only, with Node 18 or later
	$(SWIFT) build --product feedstore
	$(NODE) --test Tests/WebTests/*.test.mjs

test-browser: setup-test ## test the inspector in a browser only; screenshots come into .build/screenshots
	$(SWIFT) build --product feedstore
	cd Tests/BrowserTests && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest

test-schemas: setup-test ## test docs/schemas and docs/asyncapi.yaml only
	$(SWIFT) build --product feedstore
	cd Tests/SchemaTests && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest

test-examples: setup-test ## run the tests of examples/ only
	$(SWIFT) build --product feedstore
	cd Tests/ExampleTests && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest

example-swift: setup ## build examples/swift-follower, a package of its own; not part of `make test`
	$(SWIFT) build --package-path examples/swift-follower

# Restarts would disturb the other tests.
test-cluster: setup-test ## run the daemon on FEEDSTORE_TEST_BOOTSTRAP or a stand-in, and test that
	$(SWIFT) build --build-tests
	cd Tests/StandInCluster && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) . -- $(PYTHON) -m unittest
	$(ON_CLUSTER) $(SWIFT) test --skip-build --disable-xctest --filter BrokerTests --skip BrokerRestartTests
	$(ON_CLUSTER) $(SWIFT) test --skip-build --disable-xctest --filter BrokerRestartTests

soak: setup ## load and faults, for FEEDSTORE_SOAK_MINUTES (10), on FEEDSTORE_TEST_BOOTSTRAP or a stand-in
	$(SWIFT) build --build-tests
	FEEDSTORE_SOAK_MINUTES=$${FEEDSTORE_SOAK_MINUTES:-10} \
	  $(if $(FEEDSTORE_TEST_BOOTSTRAP),,$(STAND_IN) --faults 0.002 --markers 0.3 --abort-interval 10 --) \
	  $(SWIFT) test --skip-build --disable-xctest --filter BrokerTests.OnCluster/SoakTests

# Each target may import only what Package.swift says it depends on.
check-imports: setup
	$(SWIFT) build --build-tests --explicit-target-dependency-import-check error

format: check-swift ## format the sources
	$(SWIFT) format --in-place --parallel --recursive $(SOURCES)

lint: check-swift ## check the format
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)

benchmark: build ## measure; FILES="a.ndjson …" are replayed besides
	$(SWIFT) run --package-path Benchmarks -c release Benchmarks --feedstore .build/release/feedstore $(FILES)

clean: ## remove what was built
	rm -rf .build Benchmarks/.build examples/swift-follower/.build

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22
