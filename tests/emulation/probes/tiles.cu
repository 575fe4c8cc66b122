// Parts of the attention kernels, one call for every element.

#include "paged_kv.cuh"
#include "split.cuh"

/// out [HEAD_DIM / 8, 32]: place of each chunk of 32 rows.
extern "C" __global__ void tile_places(int* out) {
    for (int chunk = 0; chunk < HEAD_DIM / 8; ++chunk)
        out[chunk * 32 + threadIdx.x] = tile_chunk<HEAD_DIM>(threadIdx.x, chunk);
}

/// out: halves of the 256 codes of FORMAT, four a thread, decoded with `scale`, a half.
extern "C" __global__ void decoded_codes(uint2* out, int scale) {
    unsigned first = threadIdx.x * 4;
    unsigned codes = first | first + 1 << 8 | first + 2 << 16 | first + 3 << 24;
    out[threadIdx.x] = decode_four<Codec(CODEC)>(codes, scale * 0x00010001u);
}

/// out [keys]: length of a split of 1, 2, ... keys.
extern "C" __global__ void split_lengths(int* out, int keys, int splits, int least) {
    for (int i = threadIdx.x; i < keys; i += blockDim.x) out[i] = split_length(i + 1, splits, least);
}
