// Joins what the splits of grouped_decode found for each row. Compiled for one HEAD_DIM.

#include "volta.cuh"
#include "split.cuh"

constexpr int PARTIAL = HEAD_DIM + 2;

/// partials: floats [requests, heads, splits, PARTIAL]: output, maximum in units of log 2, sum of weights.
/// out: halves, `out_stride` from token to token. Grid: heads x requests; a thread takes two channels.
extern "C" __global__ void __launch_bounds__(HEAD_DIM / 2)
    split_reduce(const float* partials, unsigned* out, const int* query_starts, const int* context_lens, int splits,
                 int least_split_keys, int out_stride, int window, float value_scale) {
    const int head = blockIdx.x, request = blockIdx.y, channel = threadIdx.x * 2;
    const float* rows = partials + (static_cast<long long>(request) * gridDim.x + head) * splits * PARTIAL;
    const int keys = min(context_lens[request], window);
    const int split_keys = split_length(keys, splits, least_split_keys);
    const int used = (keys + split_keys - 1) / split_keys;

    float largest = -INFINITE, sum = 0.0f, x = 0.0f, y = 0.0f;
    for (int split = 0; split < used; ++split) largest = max(largest, rows[split * PARTIAL + HEAD_DIM]);
    for (int split = 0; split < used; ++split) {
        const float* partial = rows + split * PARTIAL;
        float weight = fast_exp2(partial[HEAD_DIM] - largest);
        sum += partial[HEAD_DIM + 1] * weight;
        x += partial[channel] * weight;
        y += partial[channel + 1] * weight;
    }
    float factor = __fdividef(value_scale, sum);
    long long token = query_starts[request];
    out[(token * out_stride + head * HEAD_DIM + channel) / 2] = pack_half2(x * factor, y * factor);
}
