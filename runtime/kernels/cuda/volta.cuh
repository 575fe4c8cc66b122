// The instructions that the kernels need and that plain C++ has no name for.
//
// A host build takes the same names from the emulation header, which stands in for the device in tests. Halves travel
// as their bits, two in a register, so that the kernels need no header of the CUDA toolkit.
#pragma once

constexpr unsigned FULL_WARP = 0xffffffffu;
constexpr float INFINITE = __builtin_bit_cast(float, 0x7f800000u);

#ifndef __CUDACC__
#include "cuda_emulation.h"
#else

/// The block's dynamic shared memory, aligned to 16 bytes.
__device__ __forceinline__ uint4* dynamic_shared() {
    extern __shared__ uint4 dynamic_shared_memory[];
    return dynamic_shared_memory;
}

/// Four independent 8x8x4 products c += a b, one by each quad pair (lanes q*4..q*4+3 and 16 more). PTX ISA,
/// "Matrix fragments for mma.m8n8k4": with t = lane % 4, h = lane / 16, a lane holds
///   a: row t + 4h, columns 0..3;  b (column-major): column t + 4h, rows 0..3;
///   c[i]: row (t & 1) + (i & 2) + 4h, column (i & 4) + (t & 2) + (i & 1).
__device__ __forceinline__ void mma_row_col(float (&c)[8], unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
                 : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
}

/// The same with a row-major b: a lane holds row t, columns 4h..4h+3.
__device__ __forceinline__ void mma_row_row(float (&c)[8], unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
                 : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
}

/// Two floats as halves, rounded to nearest even; `low` in the low 16 bits.
__device__ __forceinline__ unsigned pack_half2(float low, float high) {
    unsigned packed;
    asm("{ .reg .f16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(packed)
        : "f"(low), "f"(high));
    return packed;
}

/// Lane-wise product of two pairs of halves, rounded to nearest even; subnormals are kept.
__device__ __forceinline__ unsigned mul_half2(unsigned a, unsigned b) {
    unsigned product;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

/// Lane-wise difference of two pairs of halves, rounded to nearest even; subnormals are kept.
__device__ __forceinline__ unsigned sub_half2(unsigned a, unsigned b) {
    unsigned difference;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

/// Add one to a counter, or set it to 0 where it is `last`; what it was. Whoever finds it changed sees what the thread
/// has stored or seen before: PTX ISA, "Memory consistency model", release and acquire among all blocks.
__device__ __forceinline__ unsigned count_arrival(unsigned* counter, unsigned last) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
    return before;
}

/// 2^x by the special function unit: within 2 ulp, and 0 at -infinity.
__device__ __forceinline__ float fast_exp2(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

#endif
