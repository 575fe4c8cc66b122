// How the keys of a long context are shared out among blocks, and how these know that all of them are done.
#pragma once

#include "volta.cuh"

/// Keys of a split, where `keys` are shared out among at most `splits` of at least `least`, a multiple of 128, so that
/// no warp's tile is cut. Split s takes the keys from s times this number on; the last ones may have none.
__device__ inline int split_length(int keys, int splits, int least) {
    return max(least, ((keys + splits - 1) / splits + 127) / 128 * 128);
}

/// Whether this block is the last of `blocks` to come here, and so sees what all of them stored before; asked by all
/// of its threads. counter: 0 before the first of them and after the last. answer: in shared memory.
__device__ inline bool arrives_last(unsigned* counter, unsigned blocks, unsigned* answer) {
    __syncthreads();
    if (threadIdx.x == 0) *answer = count_arrival(counter, blocks - 1) == blocks - 1;
    __syncthreads();
    return *answer;
}
