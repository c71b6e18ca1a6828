# lunarray. `make run` and `make test` do everything on a fresh machine; `make help` lists the rest.
#
# BUILD=DIR    where everything goes (build)
# SAN=LIST     sanitizers, e.g. make SAN=address,undefined BUILD=build/asan
# T=NAME       make test T=NAME runs only the tests whose file or suite has NAME in it
# PREFIX= DESTDIR=   for make install

VERSION := 0.1.0
CC      ?= cc
BUILD   ?= build
PREFIX  ?= /usr/local
PYTHON  ?= python3
SUDO    := $(if $(filter-out 0,$(shell id -u)),sudo)

ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
MAKEFLAGS += --no-print-directory

# ---- where CUDA's headers are, of CUDA 13 or newer: a toolkit, else what `make deps` took from NVIDIA's Python wheels
TOOLKITS := $(CUDA_HOME) $(CUDA_PATH) $(patsubst %/bin/nvcc,%,$(shell command -v nvcc 2>/dev/null)) /usr/local/cuda
CUDA_H := $(wildcard $(TOOLKITS:%=%/include/cuda.h) build/cuda/nvidia/*/include/cuda.h)
CUDA_INCLUDE ?= $(patsubst %/cuda.h,%,$(firstword $(shell awk '/define CUDA_VERSION/ && $$3 >= 13000 {print FILENAME}' $(CUDA_H) /dev/null)))

PKGS := lua5.4 jansson libsodium libutf8proc libzmq
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
OPT  ?= -O2 -g1
ifdef SAN
# Checks of the sanitizers hide from the compiler what it knows elsewhere, and it then warns of what cannot happen.
SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined -Wno-error
endif
# Thread-local storage of the initial-exec kind needs no allocation when a library is loaded late, and LeakSanitizer, which
# guesses where such allocations begin and at times guesses wrong, has none to follow.
ALL_CFLAGS = -std=gnu11 $(OPT) $(WARN) -ffp-contract=off -fPIC -fvisibility=hidden -ftls-model=initial-exec -pthread -I. \
  $(CUDA_INCLUDE:%=-isystem %) $(PKG_CFLAGS) -DLUNARRAY_VERSION=\"$(VERSION)\" $(SANFLAGS) $(CFLAGS)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS := -l:liblua5.4.a -ljansson -lsodium -lutf8proc -ldl -lm -pthread
# The old kind of rpath also serves the libraries that a library in lib/ needs, and those opened by dlopen.
LDFLAGS += -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib' -Wl,--as-needed
# Of the many addresses in what UBSan says a program that may lie anywhere would set each as it starts: a third of its start,
# and of linking it. GNU's gold, where it is, takes half the time for these; the product is linked by the usual one.
GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
SAN_LDFLAGS := $(if $(SAN),-no-pie $(GOLD))
TEST_LDFLAGS := $(or $(SAN_LDFLAGS),$(GOLD))

# What compiles longest comes first, so that no processor waits for it in the end.
LONG   := $(addprefix runtime/simt/vector_,avx512.c avx2.c base.c) $(addprefix kernels/,loops_v4.c loops_v3.c loops_base.c quicksort.c)
SRC    := $(LONG) $(filter-out $(LONG),$(wildcard runtime/*.c runtime/simt/*.c kernels/*.c lang/*.c jupyter/*.c repl/*.c))
OBJ    := $(SRC:%.c=$(BUILD)/obj/%.o)
LIBOBJ := $(filter-out $(BUILD)/obj/repl/main.o,$(OBJ))
MODOBJ := $(filter $(BUILD)/obj/runtime/% $(BUILD)/obj/kernels/% $(BUILD)/obj/lang/%,$(OBJ))
# The software GPU's driver is compiled once more for libcuda-simt.so, with its entries under the real names; the rest of
# the driver API is for that library alone.
LIBCUDA := $(wildcard runtime/simt/libcuda/*.c)
SIMT_EXPORT := $(patsubst %.c,$(BUILD)/export/%.o,$(wildcard runtime/simt/driver*.c) $(LIBCUDA))
SIMTOBJ := $(SIMT_EXPORT) $(filter-out $(BUILD)/obj/runtime/simt/driver%,$(filter $(BUILD)/obj/runtime/simt/%,$(OBJ))) \
  $(addprefix $(BUILD)/obj/runtime/,status.o threads.o guard.o host.o dtype.o alloc.o interrupt.o lend.o excerpt.o report.o report_caret.o report_place.o report_race.o spelling.o messages.o signature.o mangled.o mangled_reader.o cgroup.o source.o constant.o x86.o environment.o)
UNIT   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
FUZZ   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
# CUDA's runtime API over the driver's, for programs that nvcc builds. It knows cuda.h alone.
CUDART := $(patsubst %.c,$(BUILD)/export/%.o,$(wildcard runtime/simt/libcudart/*.c))
PRODUCTS := $(BUILD)/lunarray $(BUILD)/lunarray.so $(BUILD)/libcuda-simt.so $(BUILD)/libcudart-simt.so
# Programs written to the driver API and NVRTC, which know nothing of lunarray; only where NVRTC lies beside its headers.
NVRTC   := $(firstword $(wildcard $(addprefix $(CUDA_INCLUDE)/../,lib64/libnvrtc.so.1? lib/libnvrtc.so.1?)))
DRIVER  := $(if $(NVRTC),$(patsubst %.c,$(BUILD)/%,$(wildcard tests/driver/test_*.c)))
# Programs that nvcc builds, where it is.
NVCC    := $(wildcard $(CUDA_INCLUDE)/../bin/nvcc)
RUNTIME := $(if $(NVCC),$(patsubst %.cu,$(BUILD)/%,$(wildcard tests/cudart/test_*.cu)))

# One short line a file; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,$(info $()  $(1) $@))

all: $(PRODUCTS) $(BUILD)/driver/libcuda.so.1 $(BUILD)/driver/libcudart.so.13
objs: $(OBJ)
.PHONY: all objs deps test-deps lint-deps run test test-all notebook install uninstall bundle gpu-check bench fuzz format lint clean help

help:
	@echo "make            builds $(BUILD)/lunarray"
	@echo "make run        installs what is missing, builds, opens the shell"
	@echo "make test       installs what is missing, builds, runs every test (T=name runs some)"
	@echo "make test-all   the same, then again under ASan and UBSan, and what has threads under TSan"
	@echo "make notebook   JupyterLab with the tutorials, in a virtual environment below $(BUILD)/"
	@echo "make deps       system packages, and NVRTC where there is no CUDA toolkit"
	@echo "make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)       make uninstall"
	@echo "make bundle     $(BUILD)/bundle, which runs on other machines    make gpu-check   runs its checks on a GPU"
	@echo "make bench      measurements (T=name of array work)    make fuzz T=ptx   fuzzing    make format    make lint    make clean"

# ---- building
# Lua comes first: how its interpreter's loop lies in lines of the cache, which is worth a tenth of a small operation, is not
# to depend on what is linked before it.
$(BUILD)/lunarray: $(OBJ) Makefile
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) $(SAN_LDFLAGS) -Wl,-E -o $@ -Wl,--whole-archive -l:liblua5.4.a -Wl,--no-whole-archive $(OBJ) $(LIBS)
# Its threads outlive the Lua state, so closing that must not unload the code they are in.
$(BUILD)/lunarray.so: $(MODOBJ) Makefile
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete -o $@ $(MODOBJ) -ljansson -lsodium -lutf8proc -ldl -lm -pthread
$(BUILD)/libcuda-simt.so: $(SIMTOBJ) $(BUILD)/export/aliases.ld Makefile
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o $@ $(SIMTOBJ) $(BUILD)/export/aliases.ld \
	  -ldl -lm -pthread
$(BUILD)/libcudart-simt.so: $(CUDART) $(BUILD)/export/cudart.ld runtime/simt/libcudart/versions.ld $(BUILD)/driver/libcuda.so.1
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) -shared -Wl,-soname,libcudart.so.13 -Wl,-Bsymbolic -Wl,--version-script,runtime/simt/libcudart/versions.ld \
	  -Wl,--disable-new-dtags,-rpath,'$$ORIGIN:$$ORIGIN/driver' -o $@ $(CUDART) $(BUILD)/export/cudart.ld -L$(BUILD)/driver -lcuda -pthread
# A folder for LD_LIBRARY_PATH, where the software GPU stands in NVIDIA's libraries' place, and for -L.
$(BUILD)/driver/libcuda.so.1: $(BUILD)/libcuda-simt.so
	$(Q)ln -sf ../libcuda-simt.so $@ && ln -sf libcuda.so.1 $(@D)/libcuda.so
$(BUILD)/driver/libcudart.so.13: $(BUILD)/libcudart-simt.so
	$(Q)ln -sf ../libcudart-simt.so $@ && ln -sf libcudart.so.13 $(@D)/libcudart.so
# Functions of libcuda and libcudart that are there under two names, as linker scripts.
$(BUILD)/export/aliases.ld: runtime/simt/libcuda/aliases.h runtime/simt/libcuda/symbols.def | $(BUILD)/ready
	$(Q)$(CC) -E -P -I. -x c $< -o $@
$(BUILD)/export/cudart.ld: runtime/simt/libcudart/aliases.h runtime/simt/libcudart/symbols.def | $(BUILD)/ready
	$(Q)$(CC) -E -P -I. -x c $< -o $@
$(BUILD)/obj/jupyter/install.o: jupyter/highlight.js
$(BUILD)/obj/lang/prepare.o: lang/prepare.lua
$(BUILD)/export/%.o: %.c | $(BUILD)/ready
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -DSIMT_EXPORT -MMD -MP -c -o $@ $<
# For C programs that embed the arrays, the kernels or a whole session; see the headers that `make install` copies.
$(BUILD)/liblunarray.a: $(MODOBJ) Makefile
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $(MODOBJ)
$(BUILD)/obj/%.o: %.c Makefile | $(BUILD)/ready
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
# Names of object files, not copies of them; a test is linked with those that it uses.
$(BUILD)/tests/objs.a: $(LIBOBJ)
	$(Q)rm -f $@ && $(AR) rcsT $@ $(LIBOBJ)
$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/tests/objs.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) $(TEST_LDFLAGS) -Wl,-E -o $@ $< $(BUILD)/tests/objs.a $(LIBS)
$(BUILD)/tests/driver/%: tests/driver/%.c $(BUILD)/driver/libcuda.so.1
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< -L$(BUILD)/driver -lcuda $(NVRTC) \
	  -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../driver',-rpath,$(abspath $(dir $(NVRTC))) -lm
comma := ,
# What nvcc compiles takes long and is no part of the product: sanitized builds link the same objects, with their runtime.
NVCCFLAGS = -std=c++17 -lineinfo -Xcompiler -Wno-deprecated-declarations -cudart shared -I.
build/nvcc/%.o: tests/cudart/%.cu tests/cudart/program.h tests/unit/test.h
	$(call say,NVCC)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) -c -o $@ $<
.PRECIOUS: build/nvcc/%.o
$(BUILD)/tests/cudart/%: build/nvcc/%.o $(BUILD)/driver/libcudart.so.13
	$(call say,LD)
	$(Q)$(NVCC) $(NVCCFLAGS) $(patsubst %,-Xcompiler -fsanitize=%,$(subst $(comma), ,$(SAN))) -o $@ $(filter %.o,$^) \
	  -Xlinker --disable-new-dtags,-rpath,'$$ORIGIN/../../driver'
$(BUILD)/tests/cudart/test_apart: build/nvcc/apart.o
build/nvcc/apart.o build/nvcc/test_apart.o $(BUILD)/tests/cudart/test_apart: private NVCCFLAGS += -rdc=true --default-stream per-thread
# Stand in for cuBLAS, cuSOLVER and NVTX where there is no GPU, or no profiler, and for a compiler that crashes.
STAND_INS := $(addprefix $(BUILD)/tests/driver/,libcublas.so.13 libcusolver.so.12 libnvtx3interop.so.1 libnvrtc-crashes.so)
$(BUILD)/tests/driver/libcublas.so.13: tests/driver/cublas.c
$(BUILD)/tests/driver/libcusolver.so.12: tests/driver/cusolver.c
$(BUILD)/tests/driver/libnvrtc-crashes.so: tests/driver/nvrtc.c
$(BUILD)/tests/driver/libnvtx3interop.so.1: tests/driver/nvtx.c
$(addprefix $(BUILD)/tests/driver/,libnvrtc-crashes.so libnvtx3interop.so.1):
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -o $@ $<
$(filter-out %interop.so.1 %crashes.so,$(STAND_INS)): $(BUILD)/driver/libcuda.so.1
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -o $@ $(filter %.c,$^) -L$(BUILD)/driver -lcuda -ldl
$(BUILD)/tests/bench/%: tests/bench/%.c $(BUILD)/tests/objs.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,-E -o $@ $< $(BUILD)/tests/objs.a $(LIBS)
# What mostly waits for people, Lua or a driver: it compiles faster so, all but what every operation on small arrays goes
# through. Tests, too.
HOT := $(patsubst %,$(BUILD)/obj/lang/%.o,array create error head heap index key lazy life memory ops own reduce shape view)
$(filter-out $(HOT),$(filter $(BUILD)/obj/lang/%,$(OBJ))) \
$(foreach d,obj/jupyter/%.o obj/repl/%.o export/runtime/simt/libcuda/%.o export/runtime/simt/libcudart/%.o,$(BUILD)/$(d)): \
  ALL_CFLAGS += $(if $(SAN)$(filter -O0,$(OPT)),-O0,-O1)
# (private: not for the objects that they are linked with)
$(BUILD)/tests/unit/% $(BUILD)/tests/fuzz/%: private ALL_CFLAGS += -O0
$(BUILD)/tests/unit/test_ops $(BUILD)/tests/unit/test_ops_views: private ALL_CFLAGS += -O1 # computes most of what it compares with
# The array loops and the software GPU's vector ops are compiled for several instruction sets, and give the same bits in
# all of them. For processors without AVX2 they take little time to compile instead: few machines need those.
LOOPS ?= -O3
FLOATS := -fno-math-errno -fno-trapping-math
# With threaded jumps what comes behind a selection is there once for each of its cases, of which vectors compute all.
SELECTED = $(if $(findstring clang,$(CC)),,-fno-thread-jumps)
# A short loop that lies across two lines of the cache can take twice its time: where it lies is not to depend on what is linked before it.
ALIGNED := -falign-functions=64
# Products and quotients of complex numbers as NumPy and the CUDA text have them, without C's look for infinities at each.
COMPLEX = $(if $(findstring clang,$(CC)),,-fcx-fortran-rules)
V3 := -march=x86-64-v3
V4 := -march=x86-64-v4 -mprefer-vector-width=512
X86 := $(filter x86_64-%,$(shell $(CC) -dumpmachine))
# Structs of some hundred bytes, arrays above all, are cleared and copied by vectors: the string instructions that GCC
# takes otherwise need as long as a small array's loop to begin.
ifneq ($(and $(X86),$(if $(findstring clang,$(CC)),,gcc)),)
BY_VECTORS := vector_loop:512:noalign$(comma)libcall:-1:noalign
$(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out kernels/loops_%,$(wildcard runtime/*.c runtime/simt/*.c kernels/*.c lang/*.c))): \
  ALL_CFLAGS += -mmemset-strategy=$(BY_VECTORS) -mmemcpy-strategy=$(BY_VECTORS)
endif
$(addprefix $(BUILD)/obj/kernels/,compose.o copy_host.o histogram.o sort_host.o sort_records.o sort_ranks.o sort_counted.o conv_host.o pool.o sparse_host.o): ALL_CFLAGS += $(LOOPS)
$(BUILD)/obj/kernels/scan_host.o: ALL_CFLAGS += $(COMPLEX)
$(BUILD)/obj/kernels/loops_%.o: ALL_CFLAGS += $(FLOATS) $(SELECTED) $(COMPLEX) $(ALIGNED)
$(BUILD)/obj/runtime/simt/vector_%.o: ALL_CFLAGS += $(FLOATS)
# As fast as with -O3 and compiled in less time, which is not so of the others; -O1 would take half the speed of many.
# PRE makes branches of chained selections, which then are no vectors.
FEWER := -O2 -fno-tree-pre -ftree-vectorize -fvect-cost-model=dynamic --param vect-epilogues-nomask=0
$(addprefix $(BUILD)/obj/kernels/,loops_v3.o loops_v4.o loops_narrow_v3.o loops_narrow_v4.o): ALL_CFLAGS += $(if $(findstring clang,$(CC)),$(LOOPS),$(LOOPS:-O3=$(FEWER)))
$(addprefix $(BUILD)/obj/kernels/loops_,random_v3.o random_v4.o fft_v3.o fft_v4.o product_v3.o product_v4.o): ALL_CFLAGS += $(LOOPS)
$(addprefix $(BUILD)/obj/,$(addprefix kernels/loops_,base.o narrow_base.o random_base.o fft_base.o product_base.o) runtime/simt/vector_base.o): \
  ALL_CFLAGS += $(if $(X86),$(LOOPS:-O3=-O1),$(LOOPS))
$(addprefix $(BUILD)/obj/kernels/loops_,v3.o narrow_v3.o random_v3.o fft_v3.o product_v3.o): ALL_CFLAGS += $(if $(X86),$(V3))
$(addprefix $(BUILD)/obj/kernels/loops_,v4.o narrow_v4.o random_v4.o fft_v4.o product_v4.o): ALL_CFLAGS += $(if $(X86),$(V4))
# Of one text for several instruction sets, sanitizers look at the one that this machine takes, and UBSan at the first of the
# software GPU's: those take compilers the longest of all files.
HERE := $(if $(shell grep -m1 -w avx512bw /proc/cpuinfo 2>/dev/null),v4,v3)
ifneq ($(and $(X86),$(SAN)),)
ELSEWHERE := $(filter-out %_$(HERE).o,$(foreach v,base v3 v4,$(addprefix $(BUILD)/obj/kernels/loops_,$(v).o narrow_$(v).o random_$(v).o fft_$(v).o product_$(v).o)))
ELSEWHERE += $(if $(filter v3,$(HERE)),$(BUILD)/obj/runtime/simt/vector_avx512.o)
# TSan's tests (THREADS in tests/run.py) come by neither of the faces' threads, sort no long rows and have AVX2 at least.
ELSEWHERE += $(if $(findstring thread,$(SAN)),$(filter $(BUILD)/obj/jupyter/% $(BUILD)/obj/repl/%,$(OBJ)) \
  $(BUILD)/obj/kernels/quicksort.o $(BUILD)/obj/runtime/simt/vector_base.o)
$(BUILD)/obj/kernels/quicksort.o: ALL_CFLAGS += $(if $(filter v3,$(HERE)),-DKN_AVX2_ALONE)
$(ELSEWHERE): ALL_CFLAGS += -fno-sanitize=all
# PLAIN=DIR: a build without sanitizers that was just brought up to date, which has the others already.
ifdef PLAIN
$(ELSEWHERE): $(BUILD)/obj/%.o: $(PLAIN)/obj/%.o | $(BUILD)/ready
	@cp $< $@
endif
endif
# With -Og, which compiles what the address sanitizer looks at in two thirds of -O1's time, tests of these take half as long again.
$(addprefix $(BUILD)/obj/runtime/simt/,check_listed.o check_products.o): ALL_CFLAGS += $(if $(SAN),-O1)
# Where there is AVX2 only tests that ask for it come by this one.
$(BUILD)/obj/runtime/simt/vector_base.o: ALL_CFLAGS += $(if $(and $(X86),$(SAN)),-O0)
$(addprefix $(BUILD)/obj/runtime/simt/,vector_avx2.o vector_avx512.o): \
  ALL_CFLAGS += $(LOOPS) $(if $(findstring undefined,$(SAN)),-fno-sanitize=undefined)
AVX2 := -mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mpopcnt
$(BUILD)/obj/runtime/simt/vector_avx2.o: ALL_CFLAGS += $(if $(X86),$(AVX2))
$(BUILD)/obj/runtime/simt/vector_avx512.o: \
  ALL_CFLAGS += $(if $(X86),$(AVX2) -mavx512f -mavx512cd -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
$(BUILD)/obj/runtime/simt/exec_atomic.o: ALL_CFLAGS += $(if $(X86),-mcx16)
-include $(OBJ:.o=.d) $(UNIT:=.d) $(FUZZ:=.d) $(DRIVER:=.d) $(SIMT_EXPORT:.o=.d)

# Says what is missing in one line each, before a compiler drowns it in errors.
$(BUILD)/ready: Makefile
	@mkdir -p $(sort $(dir $(OBJ) $(SIMT_EXPORT) $(CUDART) $(UNIT) $(FUZZ) $(DRIVER) $(RUNTIME))) $(addprefix $(BUILD)/,driver tests/driver tests/bench)
	@command -v pkg-config >/dev/null || { echo "pkg-config is missing: run 'make deps'"; exit 1; }
	@for p in $(PKGS) libpng zlib; do pkg-config --exists $$p || { echo "the library $$p is missing: run 'make deps'"; exit 1; }; done
	@test -n "$(CUDA_INCLUDE)" || { echo "cuda.h of CUDA 13 is missing: run 'make deps', or set CUDA_HOME to a CUDA toolkit"; exit 1; }
	@touch $@

# ---- what the machine lacks
DEBS := pkg-config lua5.4 liblua5.4-dev libzmq3-dev libjansson-dev libsodium-dev libutf8proc-dev libopenblas-dev libpng-dev zlib1g-dev \
  python3 python3-venv python3-pip ca-certificates
TEST_DEBS := chromium chromium-driver fonts-dejavu-core gcc gnuplot-nox less libc6-dev procps tmux
LINT_DEBS := clang-format clang-tidy
# Of one version, whose driver API libcuda-simt.so has whole. Of cuRAND kernels take headers; its library is for hosts.
WHEELS := $(patsubst %,nvidia-cuda-%==13.0.*,nvrtc runtime crt cccl profiler-api) nvidia-curand==10.4.0.*

# $(call debian,PACKAGES): installs those that are not there; does nothing when all are.
define debian
@missing=; for p in $(1); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then \
  { command -v apt-get$(SUDO:%= && command -v %); } >/dev/null || { echo "please install what these Debian packages hold:$$missing"; exit 1; }; \
  echo "installing:$$missing"; mkdir -p $(BUILD); \
  $(SUDO) apt-get update -qq && \
  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >$(BUILD)/apt.log 2>&1 || \
    { tail -20 $(BUILD)/apt.log; exit 1; }; \
fi
endef

deps:
	@mkdir -p $(BUILD)
	$(call debian,$(DEBS))
	@if [ -z "$(CUDA_INCLUDE)" ] || [ -z "$(wildcard $(TOOLKITS:%=%/include/nvrtc.h) build/cuda/nvidia/*/include/nvrtc.h)" ]; then \
	  echo "no toolkit of CUDA 13 found: taking NVRTC and the CUDA headers from NVIDIA's Python wheels"; \
	  $(PYTHON) -m pip install -q --disable-pip-version-check --target build/cuda.part $(patsubst %,'%',$(WHEELS)) && \
	  rm -f build/cuda.part/nvidia/*/lib/libcurand.so* && mv build/cuda.part build/cuda; \
	fi

VENV := build/venv
$(VENV)/ready: tests/requirements.txt
	@echo "setting up $(VENV)"
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -q --no-compile --disable-pip-version-check -r tests/requirements.txt
	@# All that imports jsonschema would take three seconds more, for a form of addresses that no schema here has.
	@$(VENV)/bin/python -m pip uninstall -q -y rfc3987-syntax
	@touch $@
# The tests of Lua's authors, where they can be had.
LUA_SUITE := build/lua-suite
$(LUA_SUITE)/all.lua: tests/lua_suite.py | $(VENV)/ready
	@$(VENV)/bin/python tests/lua_suite.py $(LUA_SUITE) && touch -c $@
test-deps: deps
	$(call debian,$(TEST_DEBS))

# ---- using it
run: deps
	@$(MAKE) all
	@$(BUILD)/lunarray $(ARGS)

# The tutorials draw by gnuplot.
notebook: deps
	$(call debian,gnuplot-nox)
	@$(MAKE) all $(VENV)/ready
	@$(BUILD)/lunarray jupyter install --prefix $(VENV)
	@$(VENV)/bin/jupyter lab --notebook-dir=tutorials $(if $(SUDO),,--allow-root) $(ARGS)

test: test-deps
	@$(MAKE) $(VENV)/ready $(LUA_SUITE)/all.lua test-build
	@$(PYTHON) tests/run.py --build $(BUILD) $(if $(T),--only '$(T)')
test-build: all $(DRIVER) $(RUNTIME) $(STAND_INS) $(UNIT) $(FUZZ)
.PHONY: test-build
test-all: test-deps
	@$(MAKE) $(VENV)/ready $(LUA_SUITE)/all.lua test-build
	@$(MAKE) test-build SAN=address,undefined BUILD=build/asan OPT="-Og -g1" LOOPS=-Og PLAIN=$(BUILD)
	@$(MAKE) $$($(PYTHON) tests/run.py --build build/tsan --threads --list) SAN=thread BUILD=build/tsan OPT="-O1 -g1" LOOPS=-O1 PLAIN=$(BUILD)
	@rm -rf build/test-cache; status=0; for b in build build/asan "build/tsan --threads"; do \
	  $(PYTHON) tests/run.py --cache build/test-cache --build $$b || status=1; done; exit $$status

# Each fuzzer is built twice: by default with a driver of our own that runs its corpus and a fixed number of mutations
# (that is the test), and by `make fuzz` with clang's libFuzzer, to search on.
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/standalone.c $(BUILD)/tests/objs.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -MMD -MP $(LDFLAGS) $(TEST_LDFLAGS) -Wl,-E -o $@ $< tests/fuzz/standalone.c $(BUILD)/tests/objs.a $(LIBS)
fuzz:
	@test -n "$(T)" || { echo "say which: make fuzz T=ptx (of: $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))"; exit 1; }
	@$(MAKE) objs CC=clang BUILD=build/fuzz SAN=fuzzer-no-link,address,undefined OPT="-O1 -g" LOOPS="-O1 -fno-sanitize=all" \
	  CFLAGS=-Wno-unknown-pragmas # GCC's
	@mkdir -p build/fuzz/tests build/fuzz/corpus/$(T)
	clang -std=gnu11 -g -O1 -I. $(PKG_CFLAGS) -fsanitize=fuzzer,address,undefined -Wl,-E -o build/fuzz/tests/$(T) tests/fuzz/fuzz_$(T).c \
	  $(filter-out build/fuzz/obj/repl/main.o,$(SRC:%.c=build/fuzz/obj/%.o)) $(LIBS)
	build/fuzz/tests/$(T) -artifact_prefix=build/fuzz/ -max_total_time=$(or $(SECONDS),60) build/fuzz/corpus/$(T) $(wildcard tests/fuzz/corpus/$(T))

# T=sum: arrays alone, the cases that have this in their names. T=simt: the software GPU alone.
bench: all $(if $(T),,$(BUILD)/tests/bench/bench_runtime $(BUILD)/tests/bench/bench_editor)
	@$(if $(T),,$(BUILD)/tests/bench/bench_runtime)
	@$(if $(T),,$(BUILD)/tests/bench/bench_editor)
	@$(PYTHON) tests/bench/run.py --build $(BUILD) $(if $(T),--only "$(T)")

# ---- installing
INSTALL := install -D -m 644
D = $(DESTDIR)$(PREFIX)
HEADERS := $(addprefix runtime/,status.h dtype.h interrupt.h threads.h driver.h device.h memory.h array.h dlpack.h library.h compile.h kernel.h) \
  kernels/kernels.h kernels/ops.def lang/session.h lang/dlpack.h
install: all $(BUILD)/liblunarray.a
	install -D -m 755 $(BUILD)/lunarray $(D)/bin/lunarray
	$(INSTALL) $(BUILD)/lunarray.so $(D)/lib/lua/5.4/lunarray.so
	$(INSTALL) $(BUILD)/libcuda-simt.so $(D)/lib/lunarray/libcuda-simt.so
	$(INSTALL) $(BUILD)/libcudart-simt.so $(D)/lib/lunarray/libcudart-simt.so
	@mkdir -p $(D)/lib/lunarray/driver && cd $(D)/lib/lunarray/driver && for l in cuda.so.1 cudart.so.13; do \
	  ln -sf ../lib$${l%%.*}-simt.so lib$$l && ln -sf lib$$l lib$${l%%.*}.so; done
	$(INSTALL) $(BUILD)/liblunarray.a $(D)/lib/liblunarray.a
	@mkdir -p $(D)/share/man/man1 && $(BUILD)/lunarray --man >$(D)/share/man/man1/lunarray.1
	@for h in $(HEADERS); do $(INSTALL) $$h $(D)/include/lunarray/$$h; done
	@for f in $(wildcard tutorials/*.ipynb tutorials/*.lua); do $(INSTALL) $$f $(D)/share/lunarray/$$f; done
	@if [ -d build/cuda ] && [ -z "$(wildcard $(TOOLKITS:%=%/include/nvrtc.h))" ]; then mkdir -p $(D)/lib/lunarray && cp -r build/cuda $(D)/lib/lunarray/; fi
	$(BUILD)/lunarray jupyter install --prefix $(D) --command $(PREFIX)/bin/lunarray
uninstall:
	rm -f $(D)/bin/lunarray $(D)/lib/lua/5.4/lunarray.so $(D)/lib/liblunarray.a $(D)/share/man/man1/lunarray.1
	rm -rf $(D)/lib/lunarray $(D)/include/lunarray $(D)/share/lunarray $(D)/share/jupyter/kernels/lunarray $(D)/share/jupyter/labextensions/lunarray

# ---- a folder that runs on another Linux of this processor's kind: glibc and the NVIDIA driver are all it takes from there
BUNDLE := $(BUILD)/bundle
BUNDLED := $(filter-out %/lunarray.so,$(PRODUCTS)) # a stock Lua is not there
NOT_BUNDLED := linux-vdso|ld-linux|libc\.so|libm\.so|libpthread|libdl|librt
bundle: all
	@rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)/lib $(BUNDLE)/tests
	@cp $(BUNDLED) $(BUNDLE)/
	@cp -r tests/lua tests/simt tests/gpu $(BUNDLE)/tests/ && cp -r tutorials $(BUNDLE)/ && cp LICENSE README.md $(BUNDLE)/
	@install -m 755 tests/gpu/gpu-check $(BUNDLE)/gpu-check
	@for l in $$(ldconfig -p | awk '/libzmq.so.5 |libopenblas.so.0 |libpng16.so.16 |libz.so.1 / {print $$NF}'); do cp -L $$l $(BUNDLE)/lib/; done
	@for f in $(BUNDLE)/lunarray $(BUNDLE)/lib/*.so*; do ldd $$f; done | awk '/=> \// {print $$3}' | sort -u | \
	  grep -vE '/($(NOT_BUNDLED))' | xargs -I{} cp -L -n {} $(BUNDLE)/lib/
	@for f in $(BUNDLE)/lib/*; do chmod u+w $$f; done; strip $(BUNDLE)/lib/* $(patsubst $(BUILD)/%,$(BUNDLE)/%,$(BUNDLED)) 2>/dev/null; true
	@echo "$(BUNDLE): $$(du -sh $(BUNDLE) | cut -f1)"
# Runs an existing bundle as it is: the GPU machine may lack what building one needs.
gpu-check:
	@test -x $(BUNDLE)/lunarray || $(MAKE) bundle
	@$(BUNDLE)/gpu-check $(or $(REPORT),$(BUILD)/gpu)

# ---- keeping it clean
C_FILES := $(shell git ls-files '*.c' '*.h' '*.def' 2>/dev/null)
format:
	@clang-format -i $(filter-out %.def,$(C_FILES))
# The same text for another instruction set.
TWINS := %_v3.c %_v4.c %/vector_avx2.c %/vector_avx512.c
# How far the analyzer follows one function. With three times as many nodes it comes to 97.0 instead of 96.8 % of their
# blocks (its checker debug.Stats counts them), in twice the time; its own limit, 225000, takes it 18 times as long.
PATHS := -Xclang -analyzer-config -Xclang max-nodes=5000
lint-deps:
	$(call debian,$(LINT_DEBS))
lint: lint-deps $(BUILD)/ready
	@$(PYTHON) tests/structure.py
	@clang-format --dry-run -Werror $(filter-out %.def,$(C_FILES))
	@printf '%s\n' $(filter-out $(TWINS),$(SRC) $(LIBCUDA) $(wildcard runtime/simt/libcudart/*.c)) | xargs -P $(shell nproc) -n 4 sh -c \
	  'said=$$(clang-tidy --quiet "$$@" -- $(filter-out -Werror,$(ALL_CFLAGS)) $(PATHS) 2>&1) || { printf "%s\n" "$$said"; exit 1; }' tidy
clean:
	rm -rf build

# The compiler flag that finds cuda.h, for scripts.
cuda-include:
	@echo $(CUDA_INCLUDE:%=-isystem %)
.PHONY: cuda-include
