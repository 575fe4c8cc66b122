// How the keys of a long context are shared out among blocks.
#pragma once

/// Keys of a split, where `keys` are shared out among at most `splits` of at least `least`, a multiple of 128, so that
/// no warp's tile is cut. Split s takes the keys from s times this number on; the last ones may have none.
__device__ inline int split_length(int keys, int splits, int least) {
    return max(least, ((keys + splits - 1) / splits + 127) / 128 * 128);
}
