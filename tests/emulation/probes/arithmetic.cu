// One call of an intrinsic for every element or lane, so that a test can compare it with numpy or a formula.

#include "volta.cuh"

/// which: 0 products, 1 differences of pairs of halves, 2 halves of pairs of floats. Any number of elements.
extern "C" __global__ void half_arithmetic(const unsigned* a, const unsigned* b, unsigned* out, int count, int which) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        if (which == 0) out[i] = mul_half2(a[i], b[i]);
        if (which == 1) out[i] = sub_half2(a[i], b[i]);
        if (which == 2) out[i] = pack_half2(__builtin_bit_cast(float, a[i]), __builtin_bit_cast(float, b[i]));
    }
}

/// Fragments of one warp a block: a and b [blocks, 32, 2] registers of two halves, c [blocks, 32, 8], updated.
extern "C" __global__ void tensor_product(const unsigned* a, const unsigned* b, float* c, int row_major_b) {
    int lane = blockIdx.x * 32 + threadIdx.x;
    float sums[8];
    for (int i = 0; i < 8; ++i) sums[i] = c[lane * 8 + i];
    if (row_major_b)
        mma_row_row(sums, a[lane * 2], a[lane * 2 + 1], b[lane * 2], b[lane * 2 + 1]);
    else
        mma_row_col(sums, a[lane * 2], a[lane * 2 + 1], b[lane * 2], b[lane * 2 + 1]);
    for (int i = 0; i < 8; ++i) c[lane * 8 + i] = sums[i];
}

/// out [10, 32] from in [32]: what every lane gets of each exchange.
extern "C" __global__ void exchanges(const unsigned* in, unsigned* out) {
    unsigned lane = threadIdx.x, value = in[lane];
    out[0 * 32 + lane] = __shfl_sync(FULL_WARP, value, (lane * 7 + 3) % 32);
    out[1 * 32 + lane] = __shfl_xor_sync(FULL_WARP, value, 2);
    out[2 * 32 + lane] = __shfl_xor_sync(FULL_WARP, value, 16);
    out[3 * 32 + lane] = __shfl_up_sync(FULL_WARP, value, 5);
    out[4 * 32 + lane] = __shfl_down_sync(FULL_WARP, value, 5);
    out[5 * 32 + lane] = __ballot_sync(FULL_WARP, value & 1);
    out[6 * 32 + lane] = __any_sync(FULL_WARP, lane == 9);
    out[7 * 32 + lane] = __any_sync(FULL_WARP, lane == 32);
    out[8 * 32 + lane] = __all_sync(FULL_WARP, lane != 9);
    out[9 * 32 + lane] = __byte_perm(value, ~value, 0x7160);
}
