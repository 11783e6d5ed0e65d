# Everything a person needs. Each target installs what is missing and builds first; the second time is quick.
PRESET ?= release
SCREE = build/release/scree
# Several files at once compile in half the time from scratch, but slower after an edit: UNITY=OFF goes file by file. So
# does the preset debug, which thereby checks that every file includes what it needs.
UNITY = $(if $(filter debug,$(PRESET)),OFF,ON)

.PHONY: demo studies test verify campaigns fuzz zoo bench bench-check format setup bench-setup oracles zoo-setup zoo-ten configure build clean

demo: configure  ## run the main job and say which pages to open
	@cmake --build --preset release --target scree_cli
	@mkdir -p out
	$(SCREE) sim examples/scenes/robosimian-walk.toml --out out/robosimian-walk.h5 --html out/robosimian-walk.html
	@echo
	$(SCREE) sim examples/scenes/robosimian-jump.toml --out out/robosimian-jump.h5 --html out/robosimian-jump.html
	@echo
	$(SCREE) impact examples/impact/disks.toml --samples 10000 --html out/disks.html
	@echo
	$(SCREE) sim examples/scenes/fan-landing.toml --branches 1000 --html out/fan.html
	@echo
	@echo "Open out/robosimian-walk.html, out/robosimian-jump.html, out/disks.html and out/fan.html in a browser."

studies: configure  ## build what `scree study` runs
	@cmake --build --preset release --target scree_studies

test: oracles zoo-ten build  ## all tests: C++, Python, browser
	@ctest --preset $(PRESET) --output-junit ctest.xml; status=$$?; \
	sed -n 's/.*[[:space:]]skipped="\([0-9]*\)".*/tests skipped: \1/p' build/$(PRESET)/ctest.xml; exit $$status

verify:  ## test, then the longer checks: clang, sanitizers, assertions, campaigns, fuzzers, the zoo, every benchmark and its peers
	@for preset in release clang asan debug tsan; do $(MAKE) --no-print-directory test PRESET=$$preset || exit 1; done
	@$(MAKE) --no-print-directory campaigns
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory zoo ZOO_OPTIONS="--repeats 1"
	@$(MAKE) --no-print-directory bench-check
	@$(MAKE) --no-print-directory demo
	@echo "verify: release, clang, asan, debug, tsan, the campaigns, the fuzzers, the zoo, the benchmarks and the demo passed"

fuzz:  ## a million inputs and more for the readers, led by coverage (part of verify)
	@$(MAKE) --no-print-directory configure PRESET=clang
	@cmake --build --preset clang --target scree_readers scree_fuzz
	@scripts/fuzz.sh build/clang/tests/readers build/fuzz

campaigns: build  ## random problems by the hundred thousand: impacts, complementarity; event-driven scenes, total energy; kills and full disks (part of verify)
	build/release/tests/campaigns/scree_impact_campaign 100000 1 2
	build/release/tests/campaigns/scree_lcp_campaign 1000000
	build/release/tests/campaigns/scree_event_campaign 2000 1 2
	build/release/tests/campaigns/scree_passive_campaign 500 1 2
	build/release/tests/campaigns/scree_storage_campaign 500 1

# How often each time is taken.
ZOO_OPTIONS = --repeats 3

zoo: oracles zoo-setup build  ## real robots: read, compared with Pinocchio, dropped, beside MuJoCo and Drake (part of verify)
	@if [ -f build/zoo-venv/installed.txt ]; then \
	  PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 build/zoo-venv/bin/python tests/zoo/zoo.py all $(ZOO_OPTIONS); \
	else echo "zoo: skipped, build/zoo-venv is not there"; fi

# What the benchmarks do; bench-check asks for less of the same. A peer that could not be installed is left out.
BENCH_OPTIONS =
LCP_COUNT =
CONTACT_OPTIONS = --integrators implicitfast,discrete
BATCH_OPTIONS =
PEERS = build/release/bench/peers
ORACLES_PYTHON = PYTHONDONTWRITEBYTECODE=1 build/oracles-venv/bin/python

bench: oracles bench-setup build  ## speed, beside accuracy
	@cmake --build --preset release --target scree_bench_pinocchio scree_lcp_peers
	build/release/bench/scree_bench --benchmark_counters_tabular=true $(BENCH_OPTIONS)
	@! [ -x $(PEERS)/scree_bench_pinocchio ] || $(PEERS)/scree_bench_pinocchio $(BENCH_OPTIONS)
	@! [ -x $(PEERS)/scree_lcp_peers ] || $(PEERS)/scree_lcp_peers $(LCP_COUNT)
	@! [ -x build/oracles-venv/bin/python ] || $(ORACLES_PYTHON) bench/peers/mujoco_contact.py \
	  --tables $(PEERS)/scree_contact_tables --scree $(SCREE) $(CONTACT_OPTIONS)
	@! [ -x build/oracles-venv/bin/python ] || $(ORACLES_PYTHON) bench/peers/mujoco_batch.py \
	  --tables $(PEERS)/scree_contact_tables --peer $(PEERS)/scree_batch_peer $(BATCH_OPTIONS)

bench-check:  ## compile every benchmark and peer and run each for a moment (part of verify)
	@$(MAKE) --no-print-directory bench BENCH_OPTIONS="--benchmark_min_time=0.001 --benchmark_repetitions=2" LCP_COUNT=2 \
	  CONTACT_OPTIONS="--integrators implicitfast --tasks squat --scree-integrators pbd-nmdp2 --steps 10 --repeats 1" \
	  BATCH_OPTIONS="--integrators implicitfast --scree-steps 10 --accuracy-count 1 --counts 8 --threads 1 --repeats 1"

format:  ## clang-format the sources in place
	clang-format -i $$(git ls-files '*.h' '*.cpp')

setup:  ## install missing Debian packages
	@scripts/setup.sh

bench-setup: setup  ## install Siconos and DART, which the benchmarks compare with
	@scripts/setup.sh --bench

oracles: setup  ## install Pinocchio and MuJoCo, which the tests compare with
	@scripts/setup-oracles.sh

zoo-setup: setup  ## install the robots of the zoo and the programs that read them beside scree
	@scripts/setup-zoo.sh

zoo-ten: oracles  ## install the ten robots that the tests drop
	@scripts/setup-zoo.sh --ten

configure: setup
	@mkdir -p build
	@cmake --preset $(PRESET) -DSCREE_UNITY=$(UNITY) > build/configure-$(PRESET).log 2>&1 || { cat build/configure-$(PRESET).log; exit 1; }

build: configure
	@cmake --build --preset $(PRESET)

clean:
	rm -rf build out
