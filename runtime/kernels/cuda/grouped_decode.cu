// Attention of one row a request over paged keys and values. The up to eight query heads that share a key head are the
// rows of one tensor-core product, so keys and values are read once for all of them. A block takes one key head and
// one split of its keys; its warps take tiles of 32 keys in turn, each in shared memory of its own,
// and never wait for one another before the end.
//
// Compiled for one HEAD_DIM (64, 128, 256), one CODEC and at most MOST_SPLITS splits. Shared memory: 8 rows of queries,
// then for each warp 32 rows of keys and 32 of values, in halves; in the end, each warp's output as floats lies where
// its tiles were, and then the shares of splits.

#include "split.cuh"
#include "warp_attention.cuh"

constexpr int KEYS = 32;
constexpr int ROWS = 8;
constexpr int WARPS = HEAD_DIM == 256 ? 2 : 4;
constexpr int THREADS = WARPS * 32;
constexpr int CHUNKS = HEAD_DIM / 8;
constexpr int WARP_CHUNKS = 2 * KEYS * CHUNKS;
/// Floats of a row of the partial results: the output, the maximum and the sum of the weights.
constexpr int PARTIAL = HEAD_DIM + 2;

/// Blocks that shared memory lets a multiprocessor hold; without the number the compiler saves registers for more.
constexpr int RESIDENT_BLOCKS = 98304 / SHARED_BYTES;

using Attention = WarpAttention<HEAD_DIM, 4, 1, KEYS>;
using Layout = RowLayout<HEAD_DIM, Codec(CODEC)>;
static_assert((ROWS * CHUNKS + WARPS * WARP_CHUNKS) * 16 == SHARED_BYTES,
              "the launcher plans another amount of shared memory");
static_assert(SHARED_BYTES <= 98304, "a block has 96 KiB of shared memory");
static_assert(ROWS * PARTIAL * 4 <= WARP_CHUNKS * 16, "a warp's output must fit where its tiles were");
static_assert(ROWS * MOST_SPLITS * 4 <= WARPS * WARP_CHUNKS * 16, "the shares of splits must fit where tiles were");

/// Join the splits of a key head's rows, in their order. All threads of the block call it.
/// partials: floats [group, gridDim.y, PARTIAL], of which the first `splits` of each row are there. shares: shared
/// memory for ROWS x MOST_SPLITS floats. out: halves of the first row, two in a word.
__device__ inline void join_splits(const float* partials, int group, int splits, float value_scale, float* shares,
                                   unsigned* out) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row_floats = gridDim.y * PARTIAL;
    for (int row = warp; row < group; row += WARPS) {
        const float* ends = partials + row * row_floats + HEAD_DIM;
        float* share = shares + row * MOST_SPLITS;
        float largest = -INFINITE, sum = 0.0f;
        for (int split = lane; split < splits; split += 32) largest = max(largest, ends[split * PARTIAL]);
        for (int other = 1; other < 32; other *= 2) largest = max(largest, __shfl_xor_sync(FULL_WARP, largest, other));
        for (int split = lane; split < splits; split += 32) {
            share[split] = fast_exp2(ends[split * PARTIAL] - largest);
            sum += ends[split * PARTIAL + 1] * share[split];
        }
        for (int other = 1; other < 32; other *= 2) sum += __shfl_xor_sync(FULL_WARP, sum, other);
        for (int split = lane; split < splits; split += 32) share[split] *= __fdividef(value_scale, sum);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < group * HEAD_DIM / 2; i += THREADS) {
        int row = i / (HEAD_DIM / 2), channel = i % (HEAD_DIM / 2) * 2;
        const float* pair = partials + row * row_floats + channel;
        float x = 0.0f, y = 0.0f;
#pragma unroll 8
        for (int split = 0; split < splits; ++split) {
            x += pair[split * PARTIAL] * shares[row * MOST_SPLITS + split];
            y += pair[split * PARTIAL + 1] * shares[row * MOST_SPLITS + split];
        }
        out[i] = pack_half2(x, y);
    }
}

/// Parameters up to value_scale as for flash_prefill; of request r, row query_starts[r] alone is read and written.
/// partials: floats [requests, heads, splits, PARTIAL], of contexts that are split: the last block of a key head joins
/// them. counters: [requests, key heads], see arrives_last. least_split_keys: see split_length.
/// Grid: key heads x splits x requests.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    grouped_decode(const uint4* query, const unsigned char* keys, const unsigned char* values, unsigned* out,
                   const int* query_starts, const int* context_lens, const int* block_tables, int table_stride,
                   int block_bits, int num_slots, int group, int query_stride, int out_stride, int window, float scale,
                   float softcap, float value_scale, float* partials, unsigned* counters, int least_split_keys) {
    const int head = blockIdx.x, split = blockIdx.y, request = blockIdx.z;
    const int context = context_lens[request];
    const int first_visible = max(0, context - window);
    const int split_keys = split_length(context - first_visible, gridDim.y, least_split_keys);
    const int first_key = first_visible + split * split_keys;
    const int end_key = min(first_key + split_keys, context);
    if (first_key >= end_key) return;

    const long long head_start = static_cast<long long>(head) * num_slots * Layout::BYTES;
    const HeadPages pages{keys + head_start, values + head_start, block_tables + request * table_stride, block_bits};
    const long long token = query_starts[request];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    uint4* query_tile = dynamic_shared();
    uint4* key_tile = query_tile + ROWS * CHUNKS + warp * WARP_CHUNKS;
    uint4* value_tile = key_tile + KEYS * CHUNKS;
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
        int row = i / CHUNKS;
        uint4 chunk = make_uint4(0, 0, 0, 0);
        if (row < group) chunk = query[(token * query_stride + (head * group + row) * HEAD_DIM) / 8 + i % CHUNKS];
        query_tile[tile_chunk<HEAD_DIM>(row, i % CHUNKS)] = chunk;
    }
    __syncthreads();

    Attention attention;
    // The row is the last token of its context. Rows beyond the group compute what nobody reads.
    const int positions[1][2] = {{context - 1, context - 1}};
    const ScoreRule rule{scale, softcap, window};
    for (int key = first_key + warp * KEYS; key < end_key; key += WARPS * KEYS) {
        __syncwarp();
        stage_pages<HEAD_DIM, Codec(CODEC), KEYS, 32>(key_tile, value_tile, pages, key, end_key, lane);
        __syncwarp();
        attention.attend(query_tile, key_tile, value_tile, key, positions, rule);
    }
    attention.finish();

    __syncwarp();
    float* own = reinterpret_cast<float*>(key_tile);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
        float* partial = own + attention.row(0, b) * PARTIAL;
        attention.each_pair(0, b, [&](int channel, float x, float y) {
            partial[channel] = x;
            partial[channel + 1] = y;
        });
        // Of the lanes that hold a row, the one with its first channels writes the maximum and the sum.
        if ((lane & 14) == 0) {
            partial[HEAD_DIM] = attention.maximum(0, b);
            partial[HEAD_DIM + 1] = attention.sum(0, b);
        }
    }
    __syncthreads();

    const int splits = (context - first_visible + split_keys - 1) / split_keys;
    float* all = reinterpret_cast<float*>(query_tile + ROWS * CHUNKS);
    unsigned* head_out = out + (token * out_stride + head * group * HEAD_DIM) / 2;
    const long long first_row = (static_cast<long long>(request) * gridDim.x + head) * group;
    float* head_partials = partials + first_row * gridDim.y * PARTIAL;
    for (int i = threadIdx.x; i < group * HEAD_DIM / 2; i += THREADS) {
        int row = i / (HEAD_DIM / 2), channel = i % (HEAD_DIM / 2) * 2;
        float largest = -INFINITE, sum = 0.0f, x = 0.0f, y = 0.0f;
        for (int w = 0; w < WARPS; ++w) largest = max(largest, all[w * WARP_CHUNKS * 4 + row * PARTIAL + HEAD_DIM]);
        for (int w = 0; w < WARPS; ++w) {
            const float* partial = all + w * WARP_CHUNKS * 4 + row * PARTIAL;
            float weight = fast_exp2(partial[HEAD_DIM] - largest);
            sum += partial[HEAD_DIM + 1] * weight;
            x += partial[channel] * weight;
            y += partial[channel + 1] * weight;
        }
        if (splits == 1) {
            float factor = __fdividef(value_scale, sum);
            head_out[i] = pack_half2(x * factor, y * factor);
            continue;
        }
        float* partial = head_partials + (row * gridDim.y + split) * PARTIAL;
        partial[channel] = x;
        partial[channel + 1] = y;
        if (channel == 0) {
            partial[HEAD_DIM] = largest;
            partial[HEAD_DIM + 1] = sum;
        }
    }
    // The queries have been read: their place holds the answer.
    if (splits > 1 && arrives_last(counters + request * gridDim.x + head, splits, &query_tile->x))
        join_splits(head_partials, group, splits, value_scale, all, head_out);
}
