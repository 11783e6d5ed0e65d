# Everything a person needs. Each target installs what is missing and builds first; the second time is quick.
PRESET ?= release
SCREE = build/release/scree

.PHONY: demo test verify campaigns bench format setup bench-setup oracles configure build clean

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

test: oracles build  ## all tests: C++, Python, browser
	@ctest --preset $(PRESET) --output-junit ctest.xml; status=$$?; \
	sed -n 's/.*[[:space:]]skipped="\([0-9]*\)".*/tests skipped: \1/p' build/$(PRESET)/ctest.xml; exit $$status

verify:  ## test, then the longer checks: clang, sanitizers, assertions
	@for preset in release clang asan debug; do $(MAKE) --no-print-directory test PRESET=$$preset || exit 1; done
	@$(MAKE) --no-print-directory campaigns
	@echo "verify: release, clang, asan, debug and the campaigns passed"

campaigns: build  ## random problems by the hundred thousand: impacts, complementarity; event-driven scenes, total energy (part of verify)
	build/release/tests/campaigns/scree_impact_campaign 100000 1 2
	build/release/tests/campaigns/scree_lcp_campaign 1000000
	build/release/tests/campaigns/scree_event_campaign 2000 1 2
	build/release/tests/campaigns/scree_passive_campaign 500 1 2

bench: oracles bench-setup build  ## speed, beside accuracy
	build/release/bench/scree_bench --benchmark_counters_tabular=true
	@cmake --build --preset release --target scree_bench_pinocchio
	@! [ -x build/release/bench/peers/scree_bench_pinocchio ] || build/release/bench/peers/scree_bench_pinocchio
	@cmake --build --preset release --target scree_lcp_peers
	@! [ -x build/release/bench/peers/scree_lcp_peers ] || build/release/bench/peers/scree_lcp_peers
	@cmake --build --preset release --target scree_contact_tables scree_batch_peer
	@! [ -x build/oracles-venv/bin/python ] || PYTHONDONTWRITEBYTECODE=1 build/oracles-venv/bin/python \
	  bench/peers/mujoco_contact.py --tables build/release/bench/peers/scree_contact_tables --scree $(SCREE) \
	  --integrators implicitfast,discrete
	@! [ -x build/oracles-venv/bin/python ] || PYTHONDONTWRITEBYTECODE=1 build/oracles-venv/bin/python \
	  bench/peers/mujoco_batch.py --tables build/release/bench/peers/scree_contact_tables \
	  --peer build/release/bench/peers/scree_batch_peer

format:  ## clang-format the sources in place
	clang-format -i $$(git ls-files '*.h' '*.cpp')

setup:  ## install missing Debian packages
	@scripts/setup.sh

bench-setup: setup  ## install Siconos and DART, which the benchmarks compare with
	@scripts/setup.sh --bench

oracles: setup  ## install Pinocchio and MuJoCo, which the tests compare with
	@scripts/setup-oracles.sh

configure: setup
	@mkdir -p build
	@cmake --preset $(PRESET) > build/configure-$(PRESET).log 2>&1 || { cat build/configure-$(PRESET).log; exit 1; }

build: configure
	@cmake --build --preset $(PRESET)

clean:
	rm -rf build out
