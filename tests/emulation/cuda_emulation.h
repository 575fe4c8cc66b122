// CUDA C++ on a CPU, for tests: the same .cu file, compiled by g++ with this header in the place of the device.
//
// Every thread of a block is a fiber. Barriers, shuffles, votes and tensor-core products are rendezvous of fibers, so a
// thread that does not come is an error. The kernel is compiled with -fsanitize=thread, whose hooks on each memory
// access are implemented in cuda_emulation.cpp. Errors are: an access outside the registered memory, a misaligned one,
// a read of shared memory that nobody wrote, and two accesses of one shared byte by different threads, one of them a
// write, with no barrier between them. Blocks run one after another, and one may touch what another has written in the
// launch only if it has heard of that: the other's threads came to a barrier, one of them counted its arrival, and so
// did one of this block's later, with a barrier before the others touch it. Warps are whole, blocks have one dimension.
// Nothing here is fast: shapes must be small.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
// The linker gathers what lies in a section of its own and names its bounds.
#define __shared__ static __attribute__((section("emulated_shared")))

#define threadIdx (emulation::thread_index())
#define blockIdx (emulation::block_index())
#define blockDim (emulation::block_size())
#define gridDim (emulation::grid_size())

struct uint3 {
    unsigned x, y, z;
};

struct alignas(8) uint2 {
    unsigned x, y;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulation {

constexpr unsigned ALL_LANES = 0xffffffffu;

/// What the lanes of a warp, or the threads of a block, meet for.
enum class Meeting { none, block_barrier, warp_barrier, shuffle, ballot, mma_row_col, mma_row_row };

/// What a lane brings to a meeting of its warp, and what it takes away.
struct Exchange {
    unsigned words[4];    // mma: the fragments a0, a1, b0, b1; shuffle: the value and its source lane; ballot: the vote
    float accumulator[8]; // mma only
    unsigned result;      // shuffle, ballot
};

/// A launch that failed leaves `error` non-null until the next launch.
struct Report {
    const char* error;
    std::int64_t global_bytes_read; // a byte counts once for every block that reads it
    std::int64_t global_bytes_written;
};

/// Memory that a kernel may touch, beside its own stack and shared memory.
struct Range {
    const void* start;
    std::int64_t bytes;
};

uint3 thread_index();
uint3 block_index();
uint3 block_size();
uint3 grid_size();
void* shared_memory();
void block_barrier();
unsigned count_arrival(unsigned* counter, unsigned last);
/// Wait for the whole warp. Threads outside `mask` must not exist: partial warps are not emulated.
void meet(Meeting meeting, unsigned mask, Exchange& exchange);

float half_to_float(std::uint16_t bits);
/// Rounded to nearest, ties to even; subnormals are kept, overflow is infinity.
std::uint16_t to_half(double value);

/// A kernel whose arguments lie behind pointers, as cuLaunchKernel takes them.
using Body = void (*)(void** arguments);

template <class... Arguments, std::size_t... Index>
__attribute__((no_sanitize("thread"))) void call(void (*kernel)(Arguments...), void** arguments,
                                                 std::index_sequence<Index...>) {
    kernel(*static_cast<Arguments*>(arguments[Index])...);
}

template <class... Arguments>
__attribute__((no_sanitize("thread"))) void call(void (*kernel)(Arguments...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<Arguments...>());
}

/// The blocks run in the order of their numbers, or backwards.
Report launch(const char* name, Body body, void** arguments, const unsigned* grid, unsigned threads,
              unsigned shared_bytes, const Range* ranges, int range_count, bool backwards);

inline std::uint32_t pack(std::uint16_t low, std::uint16_t high) { return low | std::uint32_t{high} << 16; }

template <class Operation>
std::uint32_t each_half(std::uint32_t a, std::uint32_t b, Operation operation) {
    // Sums and products of two halves are exact in a double, so they are rounded once.
    auto one = [&](unsigned shift) {
        double x = half_to_float(a >> shift & 0xffff), y = half_to_float(b >> shift & 0xffff);
        return to_half(operation(x, y));
    };
    return pack(one(0), one(16));
}

inline unsigned exchange_lanes(unsigned mask, unsigned value, unsigned source) {
    Exchange exchange{{value, source & 31}, {}, 0};
    meet(Meeting::shuffle, mask, exchange);
    return exchange.result;
}

template <class Value>
Value shuffle(unsigned mask, Value value, unsigned source) {
    static_assert(sizeof(Value) == sizeof(unsigned));
    return __builtin_bit_cast(Value, exchange_lanes(mask, __builtin_bit_cast(unsigned, value), source));
}

inline void mma(Meeting layout, float (&c)[8], unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
    Exchange exchange{{a0, a1, b0, b1}, {}, 0};
    for (int i = 0; i < 8; ++i) exchange.accumulator[i] = c[i];
    meet(layout, ALL_LANES, exchange);
    for (int i = 0; i < 8; ++i) c[i] = exchange.accumulator[i];
}

inline unsigned lane() { return threadIdx.x % 32; }

} // namespace emulation

inline uint4* dynamic_shared() { return static_cast<uint4*>(emulation::shared_memory()); }
inline void __syncthreads() { emulation::block_barrier(); }

inline void __syncwarp(unsigned mask = emulation::ALL_LANES) {
    emulation::Exchange exchange{};
    emulation::meet(emulation::Meeting::warp_barrier, mask, exchange);
}

template <class Value>
Value __shfl_sync(unsigned mask, Value value, int source) {
    return emulation::shuffle(mask, value, source);
}

template <class Value>
Value __shfl_xor_sync(unsigned mask, Value value, int bits) {
    return emulation::shuffle(mask, value, emulation::lane() ^ bits);
}

// A lane whose source lies outside the warp keeps its own value.
template <class Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned delta) {
    unsigned lane = emulation::lane();
    return emulation::shuffle(mask, value, lane < delta ? lane : lane - delta);
}

template <class Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned delta) {
    unsigned lane = emulation::lane();
    return emulation::shuffle(mask, value, lane + delta > 31 ? lane : lane + delta);
}

inline unsigned __ballot_sync(unsigned mask, int vote) {
    emulation::Exchange exchange{{vote != 0}, {}, 0};
    emulation::meet(emulation::Meeting::ballot, mask, exchange);
    return exchange.result;
}

inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) == emulation::ALL_LANES; }

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    std::uint64_t bytes = x | std::uint64_t{y} << 32;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}

template <class Number>
Number min(Number a, Number b) {
    return b < a ? b : a;
}

template <class Number>
Number max(Number a, Number b) {
    return a < b ? b : a;
}

inline void mma_row_col(float (&c)[8], unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
    emulation::mma(emulation::Meeting::mma_row_col, c, a0, a1, b0, b1);
}

inline void mma_row_row(float (&c)[8], unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
    emulation::mma(emulation::Meeting::mma_row_row, c, a0, a1, b0, b1);
}

inline unsigned pack_half2(float low, float high) {
    return emulation::pack(emulation::to_half(low), emulation::to_half(high));
}

inline unsigned mul_half2(unsigned a, unsigned b) {
    return emulation::each_half(a, b, [](double x, double y) { return x * y; });
}

inline unsigned sub_half2(unsigned a, unsigned b) {
    return emulation::each_half(a, b, [](double x, double y) { return x - y; });
}

inline unsigned count_arrival(unsigned* counter, unsigned last) { return emulation::count_arrival(counter, last); }

inline float fast_exp2(float x) { return exp2f(x); }
inline float __fdividef(float x, float y) { return x / y; }
