# Every target says what it does in the `##` comment beside it; `make` alone prints them.
GO       ?= go
GOBIN    := $(shell $(GO) env GOPATH)/bin
LINTER   := $(GOBIN)/golangci-lint
LINT_VERSION := v2.15.0
FUZZTIME ?= 20s
# SECURE=1 runs kills, storms, chaos, overload and limit with security on.
SECURE   ?=
secure   := $(if $(SECURE),-secure)

.DEFAULT_GOAL := help
.PHONY: help build check api test test-long test-all audit race fuzz bench scale lint fmt demo release release-check $(addprefix proof-,kills mutants sim-mutants explore sim chaos storms anchor-storms overload attack damage export hostile stores upgrade many limit failover calm idle order verify)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "With SECURE=1, kills, storms, chaos, overload and limit run with security on: make proof-chaos SECURE=1"

build: ## compile everything, and the command line to bin/snowgrid
	$(GO) build ./...
	$(GO) build -o bin/snowgrid ./cmd/snowgrid

check: lint ## format, vet, lint, short tests: before each commit (two minutes)
	@unformatted="$$(gofmt -l .)"; [ -z "$$unformatted" ] || { echo "not formatted; run make fmt: $$unformatted" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) test -short ./...

api: ## write the exported API of each public package to api/, after a change that is meant
	$(GO) test . -run '^TestAPI$$' -count 1 -update-api

conformance: ## write clients/conformance.json, the cases for generators in other languages
	$(GO) test ./internal/grants -run '^TestConformance$$' -count 1 -update-conformance

test: ## run every test once, in its usual form (two and a half minutes)
	$(GO) test ./...

# The packages whose tests have the flag -long.
long = $(shell $(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.TestImports}} {{.XTestImports}}{{end}}' ./... | awk '/internal\/long/ { print $$1 }')

test-long: ## run the tests of the packages that have long ones, with -long (25 minutes)
	$(GO) test -timeout 30m $(long) -long
	$(GO) test -C proof -timeout 30m ./... -long

test-clients: ## the clients in other languages, as far as their tools are installed (three minutes)
	.ci/languages

test-all: test test-long test-clients ## run every test, those of the nested modules too: over etcd, S3 and databases where installed
	.ci/nested

audit: ## check dependencies: licences, checksums, and known vulnerabilities where the database is reached
	.ci/licences
	.ci/vulnerabilities

race: ## run every test under the race detector
	$(GO) test -race -timeout 19m ./...

proof-kills: ## kill, stop and restart agents as processes, 20 times each (ten minutes)
	$(GO) test -timeout 60m -count 1 -v -run '^Test(AgentKilled|AllAgentsKilled|RollingRestart|StoppedOwner|StoppedQuorum|RotationUnderLoad)' ./cmd/snowgrid -long \
		-kills 20 -outages 20 -window 15s -rolls 20 -stop 60s -judge $(secure)

proof-mutants: ## weaken each rule, one line at a time, and see that its tests notice (five hours)
	$(GO) run -C proof ./mutants -j 2

proof-sim-mutants: ## weaken each rule, and see that the simulation notices (half an hour)
	$(GO) run -C proof ./mutants -j 2 -in '^(internal/(clustertime|roster|leader|session)|backup|partition|sequencer/[^b])' -by '-C proof ./sim -run ^TestSeeds$$ -seeds 80'
	$(GO) run -C proof ./mutants -j 2 -in '^internal/record/(take|operate|document|holding)' -by '-C proof ./sim -run ^TestStoreSeeds$$ -seeds 80'

proof-explore: ## search larger scopes of the model for an hour
	$(GO) test -C proof -timeout 90m -count 1 -v -run '^TestLarge' ./explore -large-for 1h

proof-sim: ## simulate grids for a thousand hours of their time (half an hour of ours)
	$(GO) test -C proof -timeout 4h -count 1 -v -run '^TestSeeds$$' ./sim -hours 1000

proof-storms: ## an hour of faults over grids of real members in bubbles, under the race detector
	for n in 1 2 3 4 5 6; do \
		$(GO) test -race -timeout 1h -count 1 -v -run '^TestStorm$$' ./grid/gridtest -storm 10m $(secure) || exit 1; \
	done

proof-anchor-storms: ## 60 storms of four minutes of virtual time over grids of 3 to 12 members with an anchor (ten minutes)
	$(GO) test -timeout 2h -count 1 -v -run '^TestAnchorStorm$$' ./grid/gridtest -anchorstorms 60 -anchorstorm 4m $(secure)

proof-chaos: ## ten minutes of faults on real processes, and a report in bin/chaos.md (needs root)
	@mkdir -p bin
	$(GO) test -C proof -timeout 60m -count 1 -v -run '^TestChaos$$' ./chaos -long \
		-chaos-for 10m -faults-min 120 -ids-min 100000000 -report $(CURDIR)/bin/chaos.md $(secure)

proof-damage: ## flip bits in and cut off every stored file, 10,000 times, and start on it (minutes)
	$(GO) test -timeout 60m -count 1 -v -run '^TestDamagedFiles$$' ./grid -damage 10000

proof-export: ## export 100,000 sequencers, lose the grid, and import them into a new one (three minutes)
	$(GO) test -timeout 30m -count 1 -v -run '^TestExportImport$$' ./cmd/snowgrid -export-names 100000

proof-hostile: ## send values at the edges to the calls that change the roster, 100,000 times (tens of minutes)
	$(GO) test -timeout 120m -count 1 -v -run '^TestHostileValuesLeaveAReadableRoster$$' ./grid -long -hostile 50

proof-stores: ## ten minutes of faults on holders over real etcd, S3 and PostgreSQL servers, and a report in bin/stores.md
	@mkdir -p bin
	cd proof/stores && $(GO) test -timeout 60m -count 1 -v -run '^Test(Stores|MissingRule)' . -long \
		-for 150s -ids-min 100000000 -report $(CURDIR)/bin/stores.md

proof-verify: ## check a table of 100 million IDs with three faults in 1 GiB, and time it next to sort -u (five minutes)
	$(GO) test -timeout 60m -count 1 -v -run '^TestVerifyTable$$' ./cmd/snowgrid -verify-rows 100000000

proof-order: ## sort 10 million IDs by their numbers, texts and bytes in Go, PostgreSQL and MariaDB (six minutes)
	cd client/sql && $(GO) test -timeout 60m -count 1 -v -run '^TestOrder$$' . -long

proof-upgrade: ## upgrade a grid under load to this release and take it back, member by member (minutes)
	$(GO) test -C proof -timeout 30m -count 1 -v ./upgrade -long -whole

fuzz: ## run each fuzz target for FUZZTIME (20s)
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg || exit 1; \
		done; \
	done

proof-idle: ## count the bytes, wake-ups and processor time of three idle agents, and compare them with the bounds (a minute; needs root)
	@mkdir -p bin
	$(GO) build -o bin/snowgrid ./cmd/snowgrid
	$(GO) run -C proof ./idle -agent $(CURDIR)/bin/snowgrid

proof-failover: ## kill and pause agents 20 times in each way, restart them in turn, and compare what attaches waited with the bounds (ten minutes)
	@mkdir -p bin
	$(GO) build -o bin/snowgrid ./cmd/snowgrid
	$(GO) run -C proof ./failover -agent $(CURDIR)/bin/snowgrid

proof-calm: ## watch three agents beside four busy loops for an hour: no other leader, no change of the roster
	@mkdir -p bin
	$(GO) build -o bin/snowgrid ./cmd/snowgrid
	$(GO) run -C proof ./failover -agent $(CURDIR)/bin/snowgrid -cases calm

proof-many: ## form a grid of a thousand members in virtual time, take its leader and a voter, and print times, traffic and the processor time of its leader (a quarter of an hour)
	@mkdir -p bin
	$(GO) test -timeout 90m -count 1 -v -run '^TestManyMembers$$' ./grid/gridtest -long -many 1000 -many-profile $(CURDIR)/bin/many.prof
	$(GO) tool pprof -tags bin/many.prof | head -3

bench: ## measure speed beside other generators, etcd and Redis, in one run, into bench/REPORT.md (minutes)
	cd bench && $(GO) run . -out .

scale: ## measure what sequencers, holders and members cost as they grow, into bench/SCALE.md (a quarter of an hour)
	cd bench && $(GO) run ./scale -out .

lint: $(LINTER) ## run golangci-lint, after installing it when it is missing
	$(LINTER) run ./...

$(LINTER):
	$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

fmt: ## rewrite the Go files as gofmt wants them
	gofmt -w $$($(GO) list -f '{{.Dir}}' ./...)

# With security on, a holder takes twice the memory, and a connection the processor time of dozens of calls.
proof-overload: ## 4,000 holders (2,000 with security) beside spinning goroutines, 2,000 clients of agents at 5 % duty, 10,000 holders beside busy loops (20 minutes)
	$(GO) test -C proof -timeout 40m -count 1 -v ./overload -long -window 15s -within 1 -holders $(if $(SECURE),2000,4000) -spin-for 36s \
		-clients 2000 -pause-for 60s -stopped 5s -running 260ms \
		-beside-holders 10000 -beside-processes 4 -beside-for 10m -beside-bytes $(if $(SECURE),80,40) $(secure)

proof-grants: ## 1,000 generators over HTTP at three agents: processor time, memory, and no grant lost beside busy loops (three minutes)
	$(GO) test -C proof -timeout 10m -count 1 -v -run '^TestGrants$$' ./overload -long -window 15s -grants 1000 -grants-for 30s -grants-cores 0.15 -grants-bytes 4096

proof-languages: ## clients in five languages, 10 million IDs each, members killed and stopped, replies late, one client forked: no two IDs equal (a quarter of an hour)
	$(GO) test -C proof -timeout 40m -count 1 -v -run '^(TestLanguages|TestDestroyed)$$' ./languages -long -ids 10000000 -seconds 420

proof-languages-cost: ## an ID in Python, TypeScript, Java and Rust, beside a plain Snowflake generator and POST /v1/ids (two minutes)
	$(GO) test -C proof -timeout 20m -count 1 -v -run '^TestCost$$' ./languages -long

proof-limit: ## add 5,000 holders at a time to three agents until a bound breaks, and name it (minutes)
	$(GO) test -C proof -timeout 40m -count 1 -v -run '^TestLimit$$' ./overload -window 15s -limit-step 5000 $(secure)

proof-attack: ## attack agents with 20,000 connections, resets, names and bodies, and print what an honest client saw (a quarter of an hour)
	$(GO) test -C proof -timeout 40m -count 1 -v ./attack -long -connections 20000 -for 10s -rounds 3 -apart -ratio 3

release: ## commit and tag a release beside the branch, and build its files into dist/: VERSION=v1.2.3 [KEY=file]
	@! test -e dist || { echo "dist has the files of a release; move or remove it first" >&2; exit 1; }
	.ci/release $(VERSION)
	$(GO) run -C release . build --version $(VERSION) $(if $(KEY),--key $(abspath $(KEY)))

release-check: ## prove that a release can be taken by the go command, and that its files are right (ten minutes; a deb needs root)
	$(GO) test -C deploy/check -count 1 -v -run '^TestReleaseCanBeTaken$$' .
	$(GO) test -C release -count 1 -v -timeout 30m . -long

demo: ## run a grid of three members on loopback and lose one of them
	$(GO) run ./cmd/snowgrid demo
