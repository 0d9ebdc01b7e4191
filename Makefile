# The commands of this repository; `make` or `make help` lists them.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 10m
EXAMPLES    := $(patsubst %/go.mod,%,$(wildcard examples/*/go.mod))

.DEFAULT_GOAL := help
.PHONY: help build run test lint generate fuzz bench clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/kafka-gateway
	$(GO) build -trimpath -o bin/kafka-gateway ./app/kafka-gateway

run: build ## run a gateway on 127.0.0.1:9092 that keeps its data in ./data
	./bin/kafka-gateway

test: lint ## check everything: lint, all tests with -race, the examples
	$(GO) test -race -timeout 25m ./...
	@set -e; for folder in $(EXAMPLES); do \
		echo "$$folder"; (cd $$folder && $(GO) vet ./... && $(GO) test -race -timeout 5m ./...); \
	done

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

generate: ## write config.example.yaml and the texts of --help anew
	$(GO) generate ./...

fuzz: ## run every fuzz target for FUZZTIME each (default 10m)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

bench: ## load a gateway of its own; see bench/README.md for other addresses
	$(GO) run ./bench

clean: ## remove what make and the tests made, downloads included
	rm -rf bin .cache bench/out
