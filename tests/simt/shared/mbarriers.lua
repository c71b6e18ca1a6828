-- What tests share that use mbarriers by PTX: the CUDA C of their setting up and of a wait for the phase with a parity.
return [[
typedef unsigned long long u64;
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void begin(u64 *bar, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(bar)), "r"(n) : "memory"); }
__device__ void wait(u64 *bar, int parity) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W; }" :: "r"(at(bar)), "r"(parity) : "memory");
}
]]
