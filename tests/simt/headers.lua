-- What CUDA's headers are made of is accepted as NVRTC compiles it, for 8.0 and for 9.0. That it computes what it must is tested elsewhere,
-- instruction by instruction.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- A source that names clusters, or bulk copies, is compiled for 9.0.
local function accepts(name, source)
  for target, mark in pairs { ["8.0"] = "", ["9.0"] = "// this_cluster\n" } do
    if target == "8.0" and source:find("cp_async_bulk", 1, true) then goto continue end
    t.test(name .. " for " .. target, function()
      local ok, k = pcall(gpu.kernel, mark .. source)
      if not ok and tostring(k):find("cannot open source file", 1, true) then t.skip("NVRTC has no such headers here") end
      assert(ok, k)
      assert(k.ptx:find(".target sm_" .. target:gsub("%.", ""), 1, true))
    end)
    ::continue::
  end
end

local function inside(name, includes, body)
  accepts(name, includes .. "\n__global__ void k(float *f, double *d, int *i, unsigned *u, unsigned long long *q, void *v) {\n" .. body .. "\n}")
end

inside("video and packed instructions", "", [[ int a=i[0],b=i[1],c=i[2]; unsigned x=u[0],y=u[1];
u[0]=__vadd2(x,y)+__vaddss2(x,y)+__vaddus4(x,y)+__vavgs2(x,y)+__vavgu4(x,y)+__vcmpeq2(x,y)+__vcmpgts4(x,y)+__vcmpltu2(x,y)+__vhaddu4(x,y)+__vmaxs2(x,y)+__vmaxu4(x,y)+__vmins4(x,y)+__vminu2(x,y)+__vneg2(x)+__vnegss4(x)+__vsads2(x,y)+__vsadu4(x,y)+__vseteq4(x,y)+__vsetgts2(x,y)+__vsub4(x,y)+__vsubss2(x,y)+__vsubus4(x,y)+__vabs2(x)+__vabsss4(x)+__vabsdiffs2(x,y)+__vabsdiffu4(x,y);
i[3]=__viaddmax_s32(a,b,c)+__viaddmin_s16x2_relu(x,y,c)+__vimax3_s32(a,b,c)+__vimin3_u16x2(x,y,c)+__vimax_s32_relu(a,b);
bool p; i[4]=__vibmax_s32(a,b,&p)+p; bool hi,lo; i[5]=__vibmin_u16x2(x,y,&hi,&lo)+hi+lo;]])
inside("integer intrinsics","",[[ int a=i[0],b=i[1]; unsigned x=u[0],y=u[1]; i[2]=__dp4a(a,b,1)+__dp2a_lo(a,b,2)+__dp2a_hi(a,b,2)+__funnelshift_l(x,y,3)+__funnelshift_rc(x,y,40)+__brev(x)+__clz(a)+__ffs(a)+__popc(x)+__byte_perm(x,y,0x3210)+__mul24(a,b)+__umul24(x,y)+__mulhi(a,b)+__sad(a,b,2)+__usad(x,y,3)+__hadd(a,b)+__rhadd(a,b)+__uhadd(x,y)+__urhadd(x,y)+__fns(x,3,2);
q[0]=__brevll(q[1])+__clzll(q[2])+__ffsll(q[3])+__popcll(q[4])+__mul64hi(q[1],q[2])+__umul64hi(q[1],q[2]);
i[6]=__float2int_ru(f[0])+__double2int_rz(d[0])+__double2hiint(d[0])+__double2loint(d[0])+__float_as_int(f[0]);
q[6]=__float2ull_rd(f[1])+__double2ull_ru(d[1]); d[3]=__hiloint2double(a,b)+__ll2double_rd(q[3])+__ull2double_ru(q[2]); f[3]=__ll2float_rz(q[3])+__uint2float_rd(x);]])
inside("mathematical functions in all roundings","",[[ float a=f[0],b=f[1]; f[2]=__fadd_rz(a,b)+__fmul_ru(a,b)+__fdiv_rd(a,b)+__fsqrt_ru(a)+__frcp_rz(a)+__frsqrt_rn(a)+__fmaf_ieee_rn(a,b,a)+__fdividef(a,b)+__expf(a)+__exp10f(a)+__logf(a)+__log2f(a)+__log10f(a)+__powf(a,b)+__sinf(a)+__cosf(a)+__tanf(a)+__saturatef(a)+__tanhf(a);
f[3]=erfinvf(a)+erfcinvf(a)+erfcxf(a)+normcdff(a)+normcdfinvf(a)+lgammaf(a)+tgammaf(a)+j0f(a)+j1f(a)+jnf(2,a)+y0f(a)+ynf(3,a)+cyl_bessel_i0f(a)+cyl_bessel_i1f(a)+rcbrtf(a)+cbrtf(a)+rhypotf(a,b)+norm3df(a,b,a)+rnorm4df(a,b,a,b)+sinpif(a)+cospif(a)+remainderf(a,b)+fmodf(a,b)+nextafterf(a,b)+ldexpf(a,2)+logbf(a)+scalbnf(a,3)+fdimf(a,b)+expm1f(a)+log1pf(a);
double x=d[0],y=d[1]; d[2]=__dadd_rz(x,y)+__dmul_ru(x,y)+__ddiv_rd(x,y)+__dsqrt_ru(x)+__drcp_rz(x)+__fma_rd(x,y,x)+erfinv(x)+erfcinv(x)+erfcx(x)+normcdf(x)+normcdfinv(x)+lgamma(x)+tgamma(x)+j0(x)+jn(2,x)+y1(x)+cyl_bessel_i0(x)+rcbrt(x)+rhypot(x,y)+sinpi(x)+cospi(x)+remainder(x,y)+fmod(x,y)+pow(x,y)+exp10(x)+atan2(x,y)+sinh(x)+acosh(x);
int e; float s,c; f[4]=frexpf(a,&e)+modff(a,&s); sincosf(a,&s,&c); sincospif(a,&s,&c); int qq; f[5]=remquof(a,b,&qq); ]])
inside("cuda_fp16.h","#include <cuda_fp16.h>",[[ __half2 a=((__half2*)v)[0],b=((__half2*)v)[1]; __half x=__low2half(a),y=__high2half(b); __half2*o=(__half2*)f;
o[0]=__hadd2(a,b);o[1]=__hmul2_sat(a,b);o[2]=__hfma2(a,b,a);o[3]=__hfma2_relu(a,b,a);o[4]=h2sqrt(a);o[5]=h2rcp(a);o[6]=h2exp(a);o[7]=h2exp2(a);o[8]=h2log(a);o[9]=h2sin(a);o[10]=h2tanh(a);o[11]=h2tanh_approx(a);o[12]=__hmax2_nan(a,b);o[13]=__hmin2(a,b);o[14]=__habs2(a);o[15]=__hneg2(a);o[16]=h2floor(a);o[17]=h2rint(a);o[18]=__heq2(a,b);o[19]=__hcmadd(a,b,a);o[20]=atomicAdd((__half2*)v,b);o[21]=__shfl_xor_sync(~0u,a,1);
u[0]=__heq2_mask(a,b)+__hgt(x,y)+__hisnan(x)+__half2int_rn(x)+__half2short_rz(x)+__half_as_ushort(y); ((__half*)d)[0]=__int2half_rd(i[0])+__double2half(d[1])+__ldg((__half*)v)+hexp10(x)+hlog10(y)+hrsqrt(x)+__hdiv(x,y)+__hfma_sat(x,y,x)+atomicAdd((__half*)v,y)+__ull2half_rn(q[0])+__ldcs((__half*)v); __stwt((__half*)v,x);]])
inside("cuda_bf16.h","#include <cuda_bf16.h>",[[ __nv_bfloat162 a=((__nv_bfloat162*)v)[0],b=((__nv_bfloat162*)v)[1]; __nv_bfloat16 x=__low2bfloat16(a),y=__high2bfloat16(b); __nv_bfloat162*o=(__nv_bfloat162*)f;
o[0]=__hadd2(a,b);o[1]=__hmul2_sat(a,b);o[2]=__hfma2(a,b,a);o[3]=__hfma2_relu(a,b,a);o[4]=h2sqrt(a);o[5]=h2rcp(a);o[6]=h2exp(a);o[7]=h2exp2(a);o[8]=h2log(a);o[9]=h2sin(a);o[10]=h2tanh(a);o[12]=__hmax2_nan(a,b);o[13]=__hmin2(a,b);o[14]=__habs2(a);o[15]=__hneg2(a);o[16]=h2floor(a);o[17]=h2rint(a);o[18]=__heq2(a,b);o[20]=atomicAdd((__nv_bfloat162*)v,b);o[21]=__shfl_xor_sync(~0u,a,1);
u[0]=__heq2_mask(a,b)+__hgt(x,y)+__bfloat162int_rn(x)+__bfloat16_as_ushort(y); ((__nv_bfloat16*)d)[0]=__int2bfloat16_rd(i[0])+__double2bfloat16(d[1])+__hdiv(x,y)+atomicAdd((__nv_bfloat16*)v,y)+__ull2bfloat16_rn(q[0]);]])
inside("cuda_fp8.h","#include <cuda_fp16.h>\n#include <cuda_fp8.h>",[[ __nv_fp8_e4m3 a(f[0]); __nv_fp8_e5m2 b(d[0]); f[1]=float(a)+float(b); __nv_fp8x4_e4m3 c(*(float4*)v); *(float4*)v=float4(c); __nv_fp8x2_e5m2 e(*(float2*)f); *(float2*)f=float2(e); __half h=__half(a); *(__half*)d=h; __nv_fp8_e8m0 z(f[2]); f[3]=float(z);]])
inside("cuda_fp6.h and cuda_fp4.h","#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n#include <cuda_fp6.h>\n#include <cuda_fp4.h>",[[ __nv_fp6_e2m3 a(f[0]); __nv_fp6_e3m2 b(f[1]); __nv_fp4_e2m1 c(f[2]); f[3]=float(a)+float(b)+float(c); __nv_fp4x4_e2m1 g(*(float4*)v); *(float4*)v=float4(g);]])
accepts("mma.h", [[#include <mma.h>
using namespace nvcuda;
__global__ void k(signed char *a, signed char *b, int *c, double *x, double *y, double *z, half *h, half *g, float *o, __nv_bfloat16 *p, float *t) {
 { wmma::fragment<wmma::matrix_a,16,16,16,signed char,wmma::row_major> A; wmma::fragment<wmma::matrix_b,16,16,16,signed char,wmma::col_major> B; wmma::fragment<wmma::accumulator,16,16,16,int> C; wmma::fill_fragment(C,0); wmma::load_matrix_sync(A,a,16); wmma::load_matrix_sync(B,b,16); wmma::mma_sync(C,A,B,C); wmma::store_matrix_sync(c,C,16,wmma::mem_row_major);}
 { wmma::fragment<wmma::matrix_a,8,8,4,double,wmma::row_major> A; wmma::fragment<wmma::matrix_b,8,8,4,double,wmma::col_major> B; wmma::fragment<wmma::accumulator,8,8,4,double> C; wmma::fill_fragment(C,0.0); wmma::load_matrix_sync(A,x,4); wmma::load_matrix_sync(B,y,4); wmma::mma_sync(C,A,B,C); wmma::store_matrix_sync(z,C,8,wmma::mem_row_major);}
 { wmma::fragment<wmma::matrix_a,32,8,16,half,wmma::row_major> A; wmma::fragment<wmma::matrix_b,32,8,16,half,wmma::col_major> B; wmma::fragment<wmma::accumulator,32,8,16,float> C; wmma::fill_fragment(C,0.f); wmma::load_matrix_sync(A,h,16); wmma::load_matrix_sync(B,g,16); wmma::mma_sync(C,A,B,C); wmma::store_matrix_sync(o,C,8,wmma::mem_row_major);}
 { wmma::fragment<wmma::matrix_a,16,16,8,wmma::precision::tf32,wmma::row_major> A; wmma::fragment<wmma::matrix_b,16,16,8,wmma::precision::tf32,wmma::col_major> B; wmma::fragment<wmma::accumulator,16,16,8,float> C; wmma::fill_fragment(C,0.f); wmma::load_matrix_sync(A,t,8); wmma::load_matrix_sync(B,t,8); wmma::mma_sync(C,A,B,C); wmma::store_matrix_sync(o,C,16,wmma::mem_row_major);}
 { wmma::fragment<wmma::matrix_a,8,8,128,wmma::experimental::precision::b1,wmma::row_major> A; wmma::fragment<wmma::matrix_b,8,8,128,wmma::experimental::precision::b1,wmma::col_major> B; wmma::fragment<wmma::accumulator,8,8,128,int> C; wmma::fill_fragment(C,0); wmma::load_matrix_sync(A,a,128); wmma::load_matrix_sync(B,b,128); wmma::bmma_sync(C,A,B,C); wmma::bmma_sync(C,A,B,C,wmma::experimental::bmmaBitOpAND); wmma::store_matrix_sync(c,C,8,wmma::mem_row_major);}
 { wmma::fragment<wmma::matrix_a,8,8,32,wmma::experimental::precision::s4,wmma::row_major> A; wmma::fragment<wmma::matrix_b,8,8,32,wmma::experimental::precision::s4,wmma::col_major> B; wmma::fragment<wmma::accumulator,8,8,32,int> C; wmma::fill_fragment(C,0); wmma::load_matrix_sync(A,a,32); wmma::load_matrix_sync(B,b,32); wmma::mma_sync(C,A,B,C); wmma::store_matrix_sync(c,C,8,wmma::mem_row_major);}
}]])
accepts("libcu++ and cooperative groups", [[#include <cuda/std/atomic>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/latch>
#include <cuda/std/complex>
#include <cuda/std/chrono>
#include <cuda/std/span>
#include <cuda/std/array>
#include <cuda/annotated_ptr>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void k(int *x, int *y, unsigned long long *q, float *f, double *d) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(x[0]); a.fetch_add(1, cuda::memory_order_acq_rel); a.fetch_max(3); int e=3; a.compare_exchange_strong(e, 4); a.wait(0); a.notify_all();
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> b(q[0]); b.fetch_xor(3); b.store(1, cuda::memory_order_release);
  cuda::atomic_ref<float, cuda::thread_scope_block> c(f[0]); c.fetch_add(1.f); cuda::atomic_ref<double> dd(d[0]); dd.fetch_max(2.0);
  cuda::atomic_ref<unsigned char> cc(*(unsigned char*)y); cc.fetch_add(1);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  __shared__ cuda::barrier<cuda::thread_scope_block> bar; if (threadIdx.x == 0) init(&bar, blockDim.x); __syncthreads();
  __shared__ alignas(16) int s[256]; auto g = cg::this_thread_block();
  cuda::memcpy_async(g, s, x, cuda::aligned_size_t<16>(1024), bar); bar.arrive_and_wait();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st; auto p = cuda::make_pipeline(g, &st); p.producer_acquire(); cuda::memcpy_async(g, s, x, 512, p); p.producer_commit(); p.consumer_wait(); p.consumer_release();
  cg::memcpy_async(g, s, x, 256); cg::wait(g); y[1] = cg::reduce(cg::tiled_partition<32>(g), s[0], cg::plus<int>()) + cg::exclusive_scan(cg::tiled_partition<16>(g), 1);
  cuda::counting_semaphore<cuda::thread_scope_thread, 4> sem(2); sem.acquire(); sem.release();
  cuda::std::complex<float> z(f[0], f[1]); z = cuda::std::exp(z) * cuda::std::sqrt(z); f[2] = z.real();
  f[3] = (float)cuda::std::chrono::system_clock::now().time_since_epoch().count(); cuda::discard_memory(x, 128); cuda::apply_access_property(x, 128, cuda::access_property::persisting{});
}]])
accepts("cuda/ptx", [[#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
__global__ void k(int *x, unsigned long long *o) { __shared__ alignas(128) int s[64]; __shared__ unsigned long long b;
#if __CUDA_ARCH__ >= 900
 ptx::mbarrier_init(&b, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); ptx::fence_proxy_async(ptx::space_shared);
 ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, x, 256, &b); auto t = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &b, 256); while (!ptx::mbarrier_try_wait(&b, t)); 
 ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, x, s, 256); ptx::cp_async_bulk_commit_group(); ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
 ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, x, s, 256); ptx::cp_async_bulk_commit_group(); ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
 ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait(); o[0] = ptx::get_sreg_clusterid_x() + ptx::get_sreg_globaltimer() + ptx::get_sreg_aggr_smem_size();
 o[1] = ptx::getctarank(ptx::space_cluster, s);
#endif
}]])
accepts("curand_kernel.h", [[#include <curand_kernel.h>
__global__ void k(float *f, double *d, unsigned *u) { { curandStateXORWOW_t s; curand_init(1,threadIdx.x,3,&s); f[0]=curand_uniform(&s)+curand_normal(&s)+curand_log_normal(&s,0,1)+curand_normal2(&s).x; d[0]=curand_uniform_double(&s)+curand_normal_double(&s); u[0]=curand(&s)+curand_poisson(&s,3.0); }
 { curandStatePhilox4_32_10_t s; curand_init(1,2,3,&s); f[1]=curand_uniform4(&s).x+curand_normal4(&s).y; u[1]=curand4(&s).z+curand_poisson4(&s,300.0).x; d[1]=curand_uniform2_double(&s).x; skipahead(5ull,&s);} { curandStateMRG32k3a_t s; curand_init(1,2,3,&s); f[2]=curand_uniform(&s); d[2]=curand_normal2_double(&s).x; } }]])
accepts("CUB for blocks and warps", [[#include <cuda/functional>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_merge_sort.cuh>
struct L { __device__ bool operator()(int a, int b) const { return a < b; } };
__global__ void k(int *x, float *f, double *d) { int v[4]; 
 using R = cub::BlockReduce<float,128>; __shared__ typename R::TempStorage r; f[1]=R(r).Sum(f[0]);
 using S = cub::BlockScan<double,128>; __shared__ typename S::TempStorage s; double w; S(s).InclusiveSum(d[0], w); d[1]=w;
 using B = cub::BlockRadixSort<int,128,4>; __shared__ typename B::TempStorage b; using LD = cub::BlockLoad<int,128,4,cub::BLOCK_LOAD_TRANSPOSE>; __shared__ typename LD::TempStorage l; LD(l).Load(x, v); __syncthreads(); B(b).Sort(v);
 using M = cub::BlockMergeSort<int,128,4>; __shared__ typename M::TempStorage m; M(m).Sort(v, L{}); using H = cub::BlockHistogram<unsigned char,128,4,256>; __shared__ typename H::TempStorage h; __shared__ int bins[256]; unsigned char cv[4]={1,2,3,4}; H(h).Histogram(cv, bins);
 using W = cub::WarpReduce<int>; __shared__ typename W::TempStorage ww[4]; v[0]=W(ww[threadIdx.x/32]).Reduce(v[0], cuda::maximum<>{}); using ST = cub::BlockStore<int,128,4,cub::BLOCK_STORE_WARP_TRANSPOSE>; __shared__ typename ST::TempStorage t; ST(t).Store(x, v); x[0]=bins[3]; }]])

t.done()
