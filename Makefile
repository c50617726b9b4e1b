# Every target works from a fresh clone with Go, git and make. What else a
# target needs it installs itself: tools into ./bin, a C compiler (which the
# race detector links with) through the system's packages.

GO            ?= go
FUZZTIME      ?= 15s
SOAKTIME      ?= 3m
HISTORIES     ?= 30000
ROUNDS        ?= 100
REMOVALS      ?= 20
BENCH         ?=

GOLANGCI      := bin/golangci-lint-v2.15.0
DEADCODE      := bin/deadcode-v0.52.0

.PHONY: run build test vet race agentsv1 volume crash fuzz soak lint bench bench-docs clean

run: ## serve on 127.0.0.1:7777 with agenthost.db beside it
	$(GO) run ./cmd/agenthost serve

build: ## the command, into ./bin
	$(GO) build -o bin/agenthost ./cmd/agenthost

test: vet race agentsv1 volume crash fuzz ## everything

vet:
	$(GO) vet ./...

race: ## all tests but the volume tests, under the race detector
	.ci/cc
	.ci/strace
	$(GO) test -race -timeout 20m ./...

# The official SDK drives the host from a module of its own.
agentsv1: ## the Agents API, driven by the official SDK
	cd tests/agentsv1 && $(GO) vet ./... && $(GO) test -timeout 10m ./...

# Volume tests sit in files built only without the race detector, which makes
# a hundred thousand of anything take minutes and measures itself.
volume: ## the tests of large numbers
	$(GO) test -count 1 -timeout 20m -run Volume ./...

# Half of the rounds are on a host with its frames in the database, half on one
# with its frames in files. Of REMOVALS there are as many on each.
crash: ## a serving host is killed ROUNDS times under load, and REMOVALS times in deletes and in clears
	$(GO) test -count 1 -timeout 90m -run TestCampaign -v ./tests/crash -rounds $$(($(ROUNDS) / 2)) -removals $(REMOVALS)

fuzz: ## each fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) .ci/fuzz

soak: ## over two thousand kills, each fuzz target for SOAKTIME, then the tests again and again under -race
	$(MAKE) crash ROUNDS=1000 REMOVALS=300
	FUZZTIME=$(SOAKTIME) .ci/fuzz
	.ci/cc
	$(GO) test -race -count 5 -timeout 60m ./...
	$(GO) test -count 1 -timeout 3h ./tests/model -histories $(HISTORIES) -rounds 5000
	$(GO) test -count 1 -timeout 1h ./tests/races -rounds 1000
	cd tests/agentsv1 && $(GO) test -count 1 -timeout 1h . -run 'ByChance|Kills' -walks 500 -kills 60

lint: $(GOLANGCI) $(DEADCODE) ## linters, formatting, unreachable functions
	$(GOLANGCI) run ./...
	cd tests/agentsv1 && $(CURDIR)/$(GOLANGCI) run ./...
	.ci/deadcode $(DEADCODE)

bench: ## the host against the bare driver, one table; BENCH=turns for a part
	$(GO) run ./tests/bench -only '$(BENCH)'

bench-docs: ## the same, and the table into docs/benchmarks.md
	$(GO) run ./tests/bench -doc docs/benchmarks.md

clean:
	rm -rf bin

# The version is part of the file's name: raising it installs the new one.
$(GOLANGCI):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(@:bin/golangci-lint-%=%)
	mv bin/golangci-lint $@

$(DEADCODE):
	GOBIN=$(CURDIR)/bin $(GO) install golang.org/x/tools/cmd/deadcode@$(@:bin/deadcode-%=%)
	mv bin/deadcode $@
