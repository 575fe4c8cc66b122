// Attention of a few rows over tiles of keys, by one warp on tensor cores: scores, online softmax, weighted values.
#pragma once

#include "paged_kv.cuh"

/// What turns products of queries and keys into weights.
struct ScoreRule {
    float scale;   // multiplies the products
    float softcap; // s becomes softcap * tanh(s / softcap); 0 leaves it
    int window;    // tokens that a row sees, itself included

    /// The score in units of log 2, so that the exponential is a power of two.
    __device__ __forceinline__ float operator()(float product) const {
        constexpr float LOG2_E = 1.4426950408889634f;
        float score = product * scale;
        if (softcap > 0.0f) {
            // tanh(x) = 1 - 2 / (e^2x + 1): its error is absolute, as is a score's share in the softmax.
            float doubled = fast_exp2(score * (2.0f * LOG2_E / softcap));
            score = softcap - __fdividef(2.0f * softcap, doubled + 1.0f);
        }
        return score * LOG2_E;
    }

    __device__ __forceinline__ bool visible(int key, int position) const {
        return key <= position && key > position - window;
    }
};

/// The running state of a warp's rows.
///
/// The four quad pairs of a warp form 4 / COLUMNS rows of COLUMNS: those in one column share nothing, those in one row
/// work for the same rows of queries. Of a tile of keys, each takes 8 of every 8 * COLUMNS keys for the scores; of the
/// values, 16 of every 16 * COLUMNS channels, for which the weights go round the columns by shuffles. Products c are
/// kept as mma_row_col describes, with two rows of queries in each lane.
template <int WIDTH, int COLUMNS, int ROW_TILES, int KEYS>
class WarpAttention {
  public:
    static constexpr int ROWS = ROW_TILES * 8 * (4 / COLUMNS);

    __device__ __forceinline__ WarpAttention()
        : t(threadIdx.x & 3), high(threadIdx.x >> 4 & 1), column((threadIdx.x >> 2 & 3) % COLUMNS),
          pair_row((threadIdx.x >> 2 & 3) / COLUMNS) {
#pragma unroll
        for (int m = 0; m < ROW_TILES; ++m) {
            row_max[m][0] = row_max[m][1] = -INFINITE;
            row_sum[m][0] = row_sum[m][1] = 0.0f;
#pragma unroll
            for (int n = 0; n < CHANNEL_TILES; ++n)
#pragma unroll
                for (int i = 0; i < 8; ++i) output[m][n][i] = 0.0f;
        }
    }

    /// The row (0 <= row < ROWS) of a lane's products c[i] of tile m, where b = (i & 2) / 2.
    __device__ __forceinline__ int row(int m, int b) const {
        return (m * (4 / COLUMNS) + pair_row) * 8 + (t & 1) + 2 * b + 4 * high;
    }

    /// Attend for all rows over one tile.
    /// queries: [ROWS, WIDTH], keys and values: [KEYS, WIDTH], all halves laid out by `tile_chunk`.
    /// first_key: token of the tile's first key. positions: token of every row(m, b).
    __device__ __forceinline__ void attend(const uint4* queries, const uint4* keys, const uint4* values, int first_key,
                                           const int (&positions)[ROW_TILES][2], const ScoreRule& rule) {
        float weights[ROW_TILES][KEY_TILES][8];
        multiply_keys(queries, keys, weights);
        weigh(weights, first_key, positions, rule);
        add_values(values, weights);
    }

    /// Add up what the lanes of a row hold; call it once, after the last tile.
    __device__ __forceinline__ void finish() {
#pragma unroll
        for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
            for (int b = 0; b < 2; ++b) {
                row_sum[m][b] += __shfl_xor_sync(FULL_WARP, row_sum[m][b], 2);
#pragma unroll
                for (int other = 1; other < COLUMNS; other *= 2)
                    row_sum[m][b] += __shfl_xor_sync(FULL_WARP, row_sum[m][b], 4 * other);
            }
    }

    /// The largest score of row(m, b) in units of log 2, -infinity if it saw no key.
    __device__ __forceinline__ float maximum(int m, int b) const { return row_max[m][b]; }

    /// The sum of the weights 2^(score - maximum) of row(m, b).
    __device__ __forceinline__ float sum(int m, int b) const { return row_sum[m][b]; }

    /// store(channel, x, y) for every pair of neighbouring channels of row(m, b) that this lane holds, not normalised.
    template <class Store>
    __device__ __forceinline__ void each_pair(int m, int b, Store store) const {
#pragma unroll
        for (int n = 0; n < CHANNEL_TILES; ++n)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                int channel = (n / 2 * COLUMNS + column) * 16 + 8 * half + n % 2 * 4 + (t & 2);
                store(channel, output[m][n][4 * half + 2 * b], output[m][n][4 * half + 2 * b + 1]);
            }
    }

  private:
    static constexpr int KEY_TILES = KEYS / (8 * COLUMNS);
    static constexpr int CHANNEL_TILES = WIDTH / (8 * COLUMNS);

    const int t, high, column, pair_row;
    float output[ROW_TILES][CHANNEL_TILES][8];
    float row_max[ROW_TILES][2], row_sum[ROW_TILES][2];

    __device__ __forceinline__ void multiply_keys(const uint4* queries, const uint4* keys,
                                                  float (&scores)[ROW_TILES][KEY_TILES][8]) const {
#pragma unroll
        for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
            for (int n = 0; n < KEY_TILES; ++n)
#pragma unroll
                for (int i = 0; i < 8; ++i) scores[m][n][i] = 0.0f;
        // A chunk of eight channels is two steps of the product, for queries and keys alike.
#pragma unroll 4
        for (int chunk = 0; chunk < WIDTH / 8; ++chunk) {
            uint4 a[ROW_TILES];
#pragma unroll
            for (int m = 0; m < ROW_TILES; ++m)
                a[m] = queries[tile_chunk<WIDTH>((m * (4 / COLUMNS) + pair_row) * 8 + t + 4 * high, chunk)];
#pragma unroll
            for (int n = 0; n < KEY_TILES; ++n) {
                uint4 b = keys[tile_chunk<WIDTH>((n * COLUMNS + column) * 8 + t + 4 * high, chunk)];
#pragma unroll
                for (int m = 0; m < ROW_TILES; ++m) {
                    mma_row_col(scores[m][n], a[m].x, a[m].y, b.x, b.y);
                    mma_row_col(scores[m][n], a[m].z, a[m].w, b.z, b.w);
                }
            }
        }
    }

    /// Scores become weights; what was summed before is brought to the new maximum.
    __device__ __forceinline__ void weigh(float (&scores)[ROW_TILES][KEY_TILES][8], int first_key,
                                          const int (&positions)[ROW_TILES][2], const ScoreRule& rule) {
#pragma unroll
        for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
            for (int b = 0; b < 2; ++b) {
                float largest = row_max[m][b];
#pragma unroll
                for (int n = 0; n < KEY_TILES; ++n)
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        int i = (j & 1) + 2 * b + 2 * (j & 2);
                        int key = first_key + (n * COLUMNS + column) * 8 + (i & 4) + (t & 2) + (i & 1);
                        float& score = scores[m][n][i];
                        score = rule.visible(key, positions[m][b]) ? rule(score) : -INFINITE;
                        largest = max(largest, score);
                    }
                largest = max(largest, __shfl_xor_sync(FULL_WARP, largest, 2));
#pragma unroll
                for (int other = 1; other < COLUMNS; other *= 2)
                    largest = max(largest, __shfl_xor_sync(FULL_WARP, largest, 4 * other));
                // A row that has seen no key has no maximum; any base gives its weights of zero.
                float base = largest == -INFINITE ? 0.0f : largest;
                float shrink = fast_exp2(row_max[m][b] - base), added = 0.0f;
#pragma unroll
                for (int n = 0; n < KEY_TILES; ++n)
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        float& weight = scores[m][n][(j & 1) + 2 * b + 2 * (j & 2)];
                        weight = fast_exp2(weight - base);
                        added += weight;
                    }
                row_max[m][b] = largest;
                row_sum[m][b] = row_sum[m][b] * shrink + added;
#pragma unroll
                for (int n = 0; n < CHANNEL_TILES; ++n)
#pragma unroll
                    for (int j = 0; j < 4; ++j) output[m][n][(j & 1) + 2 * b + 2 * (j & 2)] *= shrink;
            }
    }

    /// Weights of 8 keys as two fragments a: a lane swaps the row that is not its own with the lane that needs it.
    __device__ __forceinline__ void to_fragments(const float (&weights)[8], uint2 (&fragments)[2]) const {
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned row0 = pack_half2(weights[4 * step], weights[4 * step + 1]);
            unsigned row1 = pack_half2(weights[4 * step + 2], weights[4 * step + 3]);
            unsigned own = t & 2 ? row1 : row0;
            unsigned swapped = __shfl_xor_sync(FULL_WARP, t & 2 ? row0 : row1, 2);
            fragments[step] = t & 2 ? make_uint2(swapped, own) : make_uint2(own, swapped);
        }
    }

    __device__ __forceinline__ void add_values(const uint4* values, const float (&weights)[ROW_TILES][KEY_TILES][8]) {
#pragma unroll
        for (int n = 0; n < KEY_TILES; ++n) {
            uint2 own[ROW_TILES][2];
#pragma unroll
            for (int m = 0; m < ROW_TILES; ++m) to_fragments(weights[m][n], own[m]);
#pragma unroll
            for (int turn = 0; turn < COLUMNS; ++turn)
#pragma unroll
                for (int step = 0; step < 2; ++step) {
                    uint2 a[ROW_TILES];
#pragma unroll
                    for (int m = 0; m < ROW_TILES; ++m) {
                        a[m] = own[m][step];
                        if (turn) {
                            a[m].x = __shfl_xor_sync(FULL_WARP, a[m].x, 4 * turn);
                            a[m].y = __shfl_xor_sync(FULL_WARP, a[m].y, 4 * turn);
                        }
                    }
                    add_keys(values, (n * COLUMNS + (column ^ turn)) * 8 + 4 * step + t, a);
                }
        }
    }

    /// output += weights a of four keys x their values; this lane reads key number `key` of the tile.
    __device__ __forceinline__ void add_keys(const uint4* values, int key, const uint2 (&a)[ROW_TILES]) {
#pragma unroll
        for (int n = 0; n < CHANNEL_TILES; n += 2) {
            // The 16 bytes of a lane feed two products, so their channels are taken four by four in turn.
            uint4 b = values[tile_chunk<WIDTH>(key, (n / 2 * COLUMNS + column) * 2 + high)];
#pragma unroll
            for (int m = 0; m < ROW_TILES; ++m) {
                mma_row_row(output[m][n], a[m].x, a[m].y, b.x, b.y);
                mma_row_row(output[m][n + 1], a[m].x, a[m].y, b.z, b.w);
            }
        }
    }
};
