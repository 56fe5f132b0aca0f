# Everything from a fresh clone: `make` builds the command .venv/bin/fairweir, `make audit CCA=bbr` runs the main job,
# `make test` runs all checks. Needs Rust (1.95 or later), Python 3.11 or later, a C compiler, npm; the rest it fetches.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
CCA ?= bbr
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
# The compiled module knows nothing of the worlds whose programs are built apart: the kernel's, and that of QUIC stacks.
SOURCE_FILES := -type f \( -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name Cargo.toml \)
RUST_SOURCES := $(shell find crates bpf \( -path crates/kernel -o -path crates/emu -o -path crates/guardd -o -path crates/quic \) -prune -o $(SOURCE_FILES) -print)
KERNEL_SOURCES := $(shell find crates/kernel crates/emu crates/guardd crates/program $(SOURCE_FILES))
QUIC_SOURCES := $(shell find crates/quic crates/program $(SOURCE_FILES))
KERNEL_PACKAGES := libelf-dev zlib1g-dev pkg-config clang libbpf-dev iproute2
BROWSER_PACKAGES := chromium
# BoringSSL is built with cmake and a C++ compiler; its bindings, with libclang.
QUICHE_PACKAGES := cmake g++ libclang-dev
# The scripts of the studio and of interactive pages are bundled with esbuild.
WEB_SOURCES := $(shell find web -type f -not -path '*/node_modules/*')
WEB_PACKAGES := nodejs npm
# The plug-in in Go is built by a test.
GO_PACKAGES := golang-go

UV_COMPILE := $(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

export PYTHONHASHSEED := 0

.DEFAULT_GOAL := build
.PHONY: build quiche test-quiche audit results leaderboard test coverage docs wheel check bench bench-peers format lock doctor clean

## build: the command .venv/bin/fairweir, .venv/bin/fairweir-quic, which runs whole QUIC stacks, and where they can be
## built .venv/bin/fairweir-kernel, which plays on real TCP, and .venv/bin/fairweir-guard, the receiver's daemon
build: $(VENV)/.core $(VENV)/.web $(VENV)/.quic $(VENV)/.kernel
	@echo "ready: $(BIN)/fairweir"

## audit: a verdict on a controller, CCA=bbr (several: CCA="frcc bbr"), further options in ARGS
# Exit code 1 is a verdict (a claim fails), not a failure to audit; a gate calls fairweir itself.
audit: $(VENV)/.core $(VENV)/.web
	$(BIN)/fairweir audit $(CCA) $(ARGS) || [ $$? -eq 1 ]

## results: the pages of docs/ with results, stamped with the simulator's behavior: half an hour; after an interruption,
## the same command continues; some pages: ARGS="leaderboard outcomes"
# A stamp is a hash of the recorded tables, which the tests compare with the simulator first.
results: $(VENV)/.core $(VENV)/.web
	cargo test --quiet --locked -p fairweir-sim
	$(BIN)/python -m benches.pages $(ARGS)

## leaderboard: docs/leaderboard.md alone
leaderboard:
	$(MAKE) results ARGS=leaderboard

## test: formatters, linters, type checks, all tests; closes with a total
test: $(VENV)/.core $(VENV)/.web $(VENV)/.quic $(VENV)/.kernel $(VENV)/.browser $(VENV)/.go
	bash .ci/checks

## quiche: .venv/bin/fairweir-quiche, which runs the QUIC stack quiche, too; it takes minutes, for BoringSSL
quiche: $(VENV)/.quiche
	@echo "ready: $(BIN)/fairweir-quiche"

## test-quiche: the tests of that program, which `make test` leaves out
test-quiche: $(VENV)/.quic $(VENV)/.quiche
	cargo test --quiet --release --locked -p fairweir-quic --features quiche
	$(BIN)/python -m pytest -q -m quiche tests

## docs: the site, docs/_build/html/index.html, and the man page docs/_build/man/fairweir.1; a warning, such as a link
## that leads nowhere, is an error
docs: $(VENV)/.core $(VENV)/.web
	$(BIN)/python -m sphinx -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b man -d docs/_build/doctrees docs docs/_build/man
	@echo "ready: docs/_build/html/index.html, docs/_build/man/fairweir.1"

## coverage: the part of the Python package's lines that tests run, also in child processes; some tests: ARGS=tests/cli
coverage: $(VENV)/.core $(VENV)/.web $(VENV)/.quic $(VENV)/.kernel $(VENV)/.browser $(VENV)/.go
	rm -rf target/coverage && mkdir -p target/coverage
	$(BIN)/coverage run -m pytest -q -n 2 --dist loadfile -m "not kernel" $(ARGS) || true
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	@echo "$$($(BIN)/coverage report --format=total) % of lines; target/coverage/html/index.html shows the others"

## wheel: dist/, for `pip install`: the core with it, and what else in an extra, as in 'fairweir[formal]'; for another
## machine, with rustup: TARGET=aarch64-unknown-linux-gnu
wheel: $(VENV)/.packages $(VENV)/.web
ifdef TARGET
	rustup target add $(TARGET)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r cross.lock
	PATH=$(CURDIR)/$(BIN):$$PATH maturin build --quiet --release --locked --target $(TARGET) --zig --out dist
else
	$(BIN)/maturin build --quiet --release --locked --out dist
	$(BIN)/maturin sdist --out dist
endif
	@ls -sh dist/*

## bench: the simulator's speed
bench: $(VENV)/.core
	cargo bench --workspace --exclude fairweir-py --exclude fairweir-kernel --exclude fairweir-emu \
		--exclude fairweir-guardd
	$(BIN)/python benches/python_cca.py

## bench-peers: the simulator's speed compared with htsim's, in pairs on one CPU; htsim's source elsewhere: HTSIM=DIR;
## options in ARGS, as in ARGS="--only W3 --json"
bench-peers: $(VENV)/.packages
	$(BIN)/python -m benches.peers $(if $(HTSIM),--htsim "$(HTSIM)") $(ARGS)

## format: rewrite sources as the formatters want them
format: $(VENV)/.packages
	find crates fuzz/fuzz_targets -name '*.rs' -exec rustfmt --edition 2024 {} +
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

## lock: choose new versions of the Python packages, with the hashes that they are installed by
lock: $(VENV)/.packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools.lock
	$(UV_COMPILE) pyproject.toml --all-extras --output-file requirements.lock
	$(UV_COMPILE) --group lock --output-file tools.lock
	$(UV_COMPILE) --group cross --output-file cross.lock
	cp Cargo.lock fuzz/Cargo.lock && cargo fetch --quiet --manifest-path fuzz/Cargo.toml

## doctor: what this machine can do
doctor: $(VENV)/.core
	$(BIN)/fairweir doctor

## clean: remove what was built
clean:
	rm -rf $(VENV) target docs/_build web/node_modules python/fairweir/show/bundles python/fairweir/*.so

# Debian keeps what `-m venv` needs in a package of its own.
$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "error: Python 3.11 or later is needed: $$($(PYTHON) --version)"; exit 1; }
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq python3-venv; fi
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.packages: requirements.lock | $(VENV)/.venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.core: $(VENV)/.packages pyproject.toml Cargo.toml Cargo.lock $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --quiet --release --locked
	touch $@

$(VENV)/.web: $(WEB_SOURCES) | $(VENV)/.venv
	@if ! command -v npm >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq $(WEB_PACKAGES); fi
	cd web && npm ci --silent && npm run --silent build
	touch $@

# Pure Rust, as the core: it needs nothing more.
$(VENV)/.quic: Cargo.toml Cargo.lock $(RUST_SOURCES) $(QUIC_SOURCES) | $(VENV)/.venv
	cargo install --quiet --path crates/quic --root $(VENV) --no-track --force --locked
	touch $@

$(VENV)/.quiche: $(VENV)/.core $(QUIC_SOURCES)
	@if ! { command -v cmake && command -v c++ && find /usr/lib -name 'libclang*.so*' | grep .; } \
		>/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq $(QUICHE_PACKAGES); fi
	cargo install --quiet --path crates/quic --features quiche --bin fairweir-quiche --root $(VENV) --no-track --force --locked
	touch $@

# What the kernel world is built with and runs with; without root it must be there already.
$(VENV)/.kernel-packages: | $(VENV)/.venv
	@if { ! pkg-config --exists libelf zlib || ! command -v clang ip || [ ! -e /usr/include/bpf/bpf_helpers.h ]; } \
		>/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq $(KERNEL_PACKAGES) || true; fi
	touch $@

# cargo finds its own output directory, whatever CARGO_TARGET_DIR says.
$(VENV)/.kernel: $(VENV)/.core $(VENV)/.kernel-packages $(KERNEL_SOURCES)
	@if pkg-config --exists libelf zlib 2>/dev/null && command -v clang >/dev/null; then \
		cargo install --quiet --path crates/emu --root $(VENV) --no-track --force --locked && \
		cargo install --quiet --path crates/guardd --root $(VENV) --no-track --force --locked; \
	else echo "left out: fairweir-kernel and fairweir-guard, for which these are missing: $(KERNEL_PACKAGES)"; fi
	touch $@

# What opens the pages; without root it must be there already, else those tests are counted as skipped.
$(VENV)/.browser: | $(VENV)/.venv
	@if ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null 2>&1 \
		&& [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq $(BROWSER_PACKAGES) || true; fi
	touch $@

$(VENV)/.go: | $(VENV)/.venv
	@if ! command -v go >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq $(GO_PACKAGES); fi
	touch $@
