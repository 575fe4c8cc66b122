// Reading pages of the KV cache into shared memory as halves.
#pragma once

#include "volta.cuh"

/// How a cache row stores a head's channels; the values are those of `CODECS` in codecs.py.
enum Codec { FP16 = 0, FP8_E4M3 = 1, FP8_E5M2 = 2, INT8_G64 = 3, INT8_PER_TOKEN_HEAD = 4 };

/// Layout of one row: `head_dim` codes, and behind them, for int8, one half as scale for every `GROUP` channels.
template <int WIDTH, Codec FORMAT>
struct RowLayout {
    static constexpr bool INT8 = FORMAT == INT8_G64 || FORMAT == INT8_PER_TOKEN_HEAD;
    static constexpr int GROUP = FORMAT == INT8_G64 ? 64 : WIDTH;
    static constexpr int CODE_BYTES = FORMAT == FP16 ? 2 : 1;
    static constexpr int SCALE_BYTES = INT8 ? WIDTH / GROUP * 2 : 0;
    static constexpr int BYTES = (WIDTH * CODE_BYTES + SCALE_BYTES + 15) / 16 * 16;
    /// Loads of 16 bytes that read all codes of a row, and the channels that one of them holds.
    static constexpr int LOADS = WIDTH * CODE_BYTES / 16;
    static constexpr int CHANNELS = 16 / CODE_BYTES;
};

/// The pages of one key head of one request, in blocks of 2^block_bits tokens.
struct HeadPages {
    const unsigned char* keys;
    const unsigned char* values;
    const int* table;
    int block_bits;

    __device__ __forceinline__ long long slot(int token) const {
        return (static_cast<long long>(table[token >> block_bits]) << block_bits) | (token & ((1 << block_bits) - 1));
    }
};

/// Where 16 bytes of a tile of halves lie: rows are WIDTH wide, and neighbours are spread over all banks both for
/// lanes that read one chunk of rows 0..3 and 8..11, and for lanes that write one row.
template <int WIDTH>
__device__ __forceinline__ int tile_chunk(int row, int chunk) {
    return row * (WIDTH / 8) + (chunk ^ ((row & 3) | (row >> 1 & 4)));
}

/// Two e4m3 codes, each in the high byte of a half. Their exponent is biased by 7 and a half's by 15, so the bits moved
/// into a half's place mean 2^-8 of the value, subnormals included. Code 127 is NaN and has no infinity beside it.
__device__ __forceinline__ unsigned decode_e4m3(unsigned codes) {
    unsigned magnitude = codes & 0x7f007f00u;
    unsigned nan = (magnitude + 0x01000100u) & 0x80008000u;
    unsigned halves = mul_half2((codes & 0x80008000u) | magnitude >> 1, 0x5c005c00u); // 256.0
    return halves | (nan - (nan >> 6));
}

/// Two int8 codes, in bits 0..7 and 16..23, times a scale. 0x6400 | u is the half 1024 + u, and u = code + 128.
__device__ __forceinline__ unsigned decode_int8(unsigned codes, unsigned scale) {
    return mul_half2(sub_half2(codes ^ 0x64806480u, 0x64806480u), scale);
}

/// Four channels of a register of eight-bit codes, as four halves in two registers.
template <Codec FORMAT>
__device__ __forceinline__ uint2 decode_four(unsigned codes, unsigned scale) {
    if (FORMAT == INT8_G64 || FORMAT == INT8_PER_TOKEN_HEAD)
        return make_uint2(decode_int8(__byte_perm(codes, 0, 0x4140), scale),
                          decode_int8(__byte_perm(codes, 0, 0x4342), scale));
    // An e5m2 code is the high byte of the half that it means.
    unsigned low = __byte_perm(codes, 0, 0x1404), high = __byte_perm(codes, 0, 0x3424);
    return FORMAT == FP8_E5M2 ? make_uint2(low, high) : make_uint2(decode_e4m3(low), decode_e4m3(high));
}

/// Decode load number `load` of a row, whose bytes are `raw`, into the tile; `scale` is the half of its group, twice.
template <int WIDTH, Codec FORMAT>
__device__ __forceinline__ void store_decoded(uint4* tile, int row, int load, uint4 raw, unsigned scale) {
    if (FORMAT == FP16) {
        tile[tile_chunk<WIDTH>(row, load)] = raw;
        return;
    }
    uint2 a = decode_four<FORMAT>(raw.x, scale), b = decode_four<FORMAT>(raw.y, scale);
    uint2 c = decode_four<FORMAT>(raw.z, scale), d = decode_four<FORMAT>(raw.w, scale);
    tile[tile_chunk<WIDTH>(row, 2 * load)] = make_uint4(a.x, a.y, b.x, b.y);
    tile[tile_chunk<WIDTH>(row, 2 * load + 1)] = make_uint4(c.x, c.y, d.x, d.y);
}

/// Two copies of the scale that a load's channels share; zero for a codec without scales.
template <int WIDTH, Codec FORMAT>
__device__ __forceinline__ unsigned load_scale(const unsigned char* row, int load) {
    using Layout = RowLayout<WIDTH, FORMAT>;
    if (!Layout::INT8) return 0;
    int group = load * Layout::CHANNELS / Layout::GROUP;
    return *reinterpret_cast<const unsigned short*>(row + WIDTH + 2 * group) * 0x00010001u;
}

/// Read `KEYS` tokens from `first` on into tiles [KEYS, WIDTH] of halves; tokens from `end` on become zeros and are
/// not read. `THREADS` threads call it, `thread` counts them. No barrier is waited for.
template <int WIDTH, Codec FORMAT, int KEYS, int THREADS>
__device__ __forceinline__ void stage_pages(uint4* keys, uint4* values, const HeadPages& pages, int first, int end,
                                            int thread) {
    using Layout = RowLayout<WIDTH, FORMAT>;
    constexpr int TOTAL = KEYS * Layout::LOADS;
    // Loads of a batch are in flight together: there is no asynchronous copy to hide their latency.
    constexpr int BATCH = TOTAL / THREADS < 4 ? TOTAL / THREADS : 4;
    static_assert(TOTAL % (BATCH * THREADS) == 0, "threads must divide the loads of a tile");
#pragma unroll 1
    for (int base = thread; base < TOTAL; base += BATCH * THREADS) {
        uint4 raw_key[BATCH], raw_value[BATCH];
        unsigned key_scale[BATCH], value_scale[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            int row = (base + i * THREADS) / Layout::LOADS, load = (base + i * THREADS) % Layout::LOADS;
            raw_key[i] = raw_value[i] = make_uint4(0, 0, 0, 0);
            key_scale[i] = value_scale[i] = 0;
            if (first + row < end) {
                long long offset = pages.slot(first + row) * Layout::BYTES;
                raw_key[i] = *reinterpret_cast<const uint4*>(pages.keys + offset + load * 16);
                raw_value[i] = *reinterpret_cast<const uint4*>(pages.values + offset + load * 16);
                key_scale[i] = load_scale<WIDTH, FORMAT>(pages.keys + offset, load);
                value_scale[i] = load_scale<WIDTH, FORMAT>(pages.values + offset, load);
            }
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            int row = (base + i * THREADS) / Layout::LOADS, load = (base + i * THREADS) % Layout::LOADS;
            store_decoded<WIDTH, FORMAT>(keys, row, load, raw_key[i], key_scale[i]);
            store_decoded<WIDTH, FORMAT>(values, row, load, raw_value[i], value_scale[i]);
        }
    }
}
