# The commands of this repository; `make` or `make help` lists them.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC       := github.com/securego/gosec/v2/cmd/gosec@v2.30.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
FUZZTIME    ?= 10m
EXAMPLES    := $(patsubst %/go.mod,%,$(wildcard examples/*/go.mod))

.DEFAULT_GOAL := help
.PHONY: help build run test lint generate tidy fuzz bench clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/kafka-gateway
	$(GO) build -trimpath -o bin/kafka-gateway ./app/kafka-gateway

run: build ## run a gateway on 127.0.0.1:9092 that keeps its data in ./data
	./bin/kafka-gateway

test: lint ## check everything: lint, all tests with -race, the examples
	@# gotestsum lists at the end what failed, and what was skipped and why.
	$(GO) run $(GOTESTSUM) --format pkgname -- -race -timeout 25m ./...
	@set -e; for folder in $(EXAMPLES); do \
		echo "$$folder"; (cd $$folder && $(GO) vet ./... && $(GO) test -race -timeout 5m ./...); \
	done

# What gosec finds is mended, or answered where it stands by "#nosec RULE -- why". Answered here, for all files:
#   G104  errors that nobody looks at: those of Close and of deadlines, on the way out, where nothing is left to do
#   G304  names of files that are no constants: they are the operator's, from the configuration and the command line
# and for rooms that take numbers apart which were checked, or are written back in other words of the same size:
#   G115  conversions of integers. It holds where strangers' bytes come in: core/wire, core/guard, handlers, security
# Programs for tests and measurements are not looked at.
GOSEC_FLAGS := -quiet -nosec-require-rules -nosec-require-justification -exclude=G104,G304 \
	-exclude-rules='core/(record|backend|telemetry|topicconfig)/.*:G115;coordinator/.*:G115;(app|admin)/.*:G115' \
	-exclude-dir=bench -exclude-dir=examples -exclude-dir='[a-z]+test'

# Made anew when a source has changed since: gosec keeps no cache of its own.
.cache/gosec: Makefile go.sum $(shell git ls-files -co --exclude-standard '*.go' | grep -v -e _test.go -e '^examples/' -e '^bench/')
	@mkdir -p $(@D)
	$(GO) run $(GOSEC) $(GOSEC_FLAGS) ./...
	@touch $@

lint: .cache/gosec ## gofmt, go vet, staticcheck, gosec
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

generate: ## write config.example.yaml and the texts of --help anew
	$(GO) generate ./...

tidy: ## go mod tidy, here and in the examples
	$(GO) mod tidy
	@set -e; for folder in $(EXAMPLES); do (cd $$folder && $(GO) mod tidy); done

fuzz: ## run every fuzz target for FUZZTIME each (default 10m), of PKG (default ./...)
	@set -e; for package in $$($(GO) list $(or $(PKG),./...)); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$package; \
		done; \
	done

bench: build ## load ADDR="host:port ..." or, without it, a gateway started for it
	@set -e; \
	if [ -n "$(ADDR)" ]; then $(GO) run ./bench $(BENCHFLAGS) $(ADDR); exit; fi; \
	dir=$$(mktemp -d); \
	./bin/kafka-gateway --listen 127.0.0.1:0 --admin.listen= --storage.dir $$dir/data --max_connections 20000 --groups.initial_rebalance_delay 0s \
		--log.level warn >$$dir/ready & pid=$$!; \
	trap 'kill $$pid; wait $$pid; rm -rf $$dir' EXIT; \
	until [ -s $$dir/ready ]; do kill -0 $$pid; sleep 0.1; done; \
	$(GO) run ./bench $(BENCHFLAGS) $$(sed 's/.* //' $$dir/ready)

clean: ## remove what make and the tests made, downloads included
	rm -rf bin .cache bench/out
