// Attention of ragged queries over paged keys and values, causal in each request; a block takes 128 rows of one key
// head. A row is one query head of one token: all heads that share a key head lie side by side, token after token, so
// that keys and values are read once for the group.
//
// Compiled for one HEAD_DIM (64, 128, 256) and one CODEC. Shared memory: 128 rows of queries, then KEYS rows of keys,
// then as many of values, in halves.

#include "warp_attention.cuh"

// A wide head has no registers for 32 rows a warp, so its warps are twice as many, with half the rows.
constexpr int COLUMNS = HEAD_DIM == 256 ? 4 : 2;
constexpr int KEYS = HEAD_DIM == 64 ? 64 : 32;
constexpr int WARPS = HEAD_DIM == 256 ? 8 : 4;
constexpr int THREADS = WARPS * 32;
constexpr int CHUNKS = HEAD_DIM / 8;

using Attention = WarpAttention<HEAD_DIM, COLUMNS, 2, KEYS>;
using Layout = RowLayout<HEAD_DIM, Codec(CODEC)>;
constexpr int ROWS = WARPS * Attention::ROWS;
static_assert((ROWS + 2 * KEYS) * HEAD_DIM * 2 == SHARED_BYTES, "the launcher plans another amount of shared memory");
static_assert(SHARED_BYTES <= 98304, "a block has 96 KiB of shared memory");

/// query, out: halves, `query_stride` and `out_stride` from token to token, heads contiguous in each.
/// keys, values: [num_kv_heads, num_slots, Layout::BYTES].
/// query_starts, context_lens, query_lens: [requests], as PagedRows has them.
/// block_tables: [requests, table_stride]. block_bits: log 2 of the block size.
/// group: query heads that share a key head. window: tokens that a row sees, at least 1.
/// scale: what products of queries and stored keys are multiplied by. softcap: 0 for none.
/// value_scale: what stored values are multiplied by.
/// Grid: blocks of rows of the longest request x key heads x requests.
extern "C" __global__ void __launch_bounds__(THREADS)
    flash_prefill(const uint4* query, const unsigned char* keys, const unsigned char* values, unsigned* out,
                  const int* query_starts, const int* context_lens, const int* block_tables, int table_stride,
                  int block_bits, int num_slots, int group, int query_stride, int out_stride, int window, float scale,
                  float softcap, float value_scale, const int* query_lens) {
    const int request = blockIdx.z, head = blockIdx.y;
    // The last rows of a request see the most keys; they start first.
    const int first_row = (gridDim.x - 1 - blockIdx.x) * ROWS;
    const int rows = query_lens[request] * group;
    if (first_row >= rows) return;

    const long long first_token = query_starts[request];
    const int before = context_lens[request] - query_lens[request];
    const int last_row = min(first_row + ROWS, rows) - 1;
    const int first_key = max(0, before + first_row / group - window + 1);
    const int end_key = before + last_row / group + 1;
    const long long head_start = static_cast<long long>(head) * num_slots * Layout::BYTES;
    const HeadPages pages{keys + head_start, values + head_start, block_tables + request * table_stride, block_bits};

    uint4* query_tile = dynamic_shared();
    uint4* key_tile = query_tile + ROWS * CHUNKS;
    uint4* value_tile = key_tile + KEYS * CHUNKS;
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
        int row = i / CHUNKS, packed = first_row + row;
        uint4 chunk = make_uint4(0, 0, 0, 0);
        if (packed < rows) {
            long long token = first_token + packed / group;
            chunk = query[(token * query_stride + (head * group + packed % group) * HEAD_DIM) / 8 + i % CHUNKS];
        }
        query_tile[tile_chunk<HEAD_DIM>(row, i % CHUNKS)] = chunk;
    }

    // Rows beyond the request's last compute what nobody reads.
    Attention attention;
    const int warp_row = threadIdx.x / 32 * Attention::ROWS;
    int positions[2][2];
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int b = 0; b < 2; ++b)
            positions[m][b] = before + (first_row + warp_row + attention.row(m, b)) / group;

    const ScoreRule rule{scale, softcap, window};
    for (int key = first_key; key < end_key; key += KEYS) {
        __syncthreads();
        stage_pages<HEAD_DIM, Codec(CODEC), KEYS, THREADS>(key_tile, value_tile, pages, key, end_key, threadIdx.x);
        __syncthreads();
        attention.attend(query_tile + warp_row * CHUNKS, key_tile, value_tile, key, positions, rule);
    }

    attention.finish();
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int b = 0; b < 2; ++b) {
            int packed = first_row + warp_row + attention.row(m, b);
            if (packed >= rows) continue;
            long long start = (first_token + packed / group) * out_stride + (head * group + packed % group) * HEAD_DIM;
            float factor = __fdividef(value_scale, attention.sum(m, b));
            attention.each_pair(m, b, [&](int channel, float x, float y) {
                out[(start + channel) / 2] = pack_half2(x * factor, y * factor);
            });
        }
}
