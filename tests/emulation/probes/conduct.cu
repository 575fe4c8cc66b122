// A kernel that keeps the rules, and by number of the deed one that breaks a single rule.

#include "volta.cuh"

enum Deed {
    GOOD,
    READ_OUTSIDE,
    WRITE_OUTSIDE,
    MISALIGNED,
    BEYOND_SHARED,
    UNINITIALISED,
    READ_AFTER_WRITE,
    WRITE_AFTER_READ,
    WRITE_AFTER_WRITE,
    WRITE_AFTER_MANY_READS,
    RACE_OF_WARPS,
    RACE_IN_STATIC,
    DIVERGENT_BARRIER,
    EARLY_END,
    DIVERGENT_SHUFFLE,
    PARTIAL_WARP,
};

/// data: int [blocks, 64]. Two warps, and 65 ints of dynamic shared memory, the last of which only the deeds touch again.
extern "C" __global__ void conduct(int* data, int deed) {
    __shared__ int fixed[65];
    int* shared = reinterpret_cast<int*>(dynamic_shared());
    const int thread = threadIdx.x, neighbour = thread ^ 1;
    data += 64 * (blockIdx.x + gridDim.x * blockIdx.y);

    if (deed == READ_OUTSIDE && thread == 5) data[0] = data[64];
    if (deed == WRITE_OUTSIDE && thread == 5) data[-1] = 0;
    if (deed == MISALIGNED && thread == 5) data[0] = *reinterpret_cast<int*>(reinterpret_cast<char*>(data) + 2);
    if (deed == BEYOND_SHARED && thread == 63) shared[thread + 2] = 0;
    if (deed == UNINITIALISED && thread == 5) data[0] = shared[6];
    shared[thread] = fixed[thread] = data[thread];
    if (thread == 0) shared[64] = fixed[64] = 0;
    __syncthreads();

    if (deed == READ_AFTER_WRITE && thread == 0) shared[64] = 7;
    if (deed == READ_AFTER_WRITE && thread == 1) data[0] = shared[64];
    if (deed == WRITE_AFTER_READ && thread == 0) data[0] = shared[64];
    if (deed == WRITE_AFTER_READ && thread == 1) shared[64] = 7;
    if (deed == WRITE_AFTER_WRITE && thread < 2) shared[64] = 7;
    if (deed == WRITE_AFTER_MANY_READS) data[thread] = shared[64];
    if (deed == WRITE_AFTER_MANY_READS && thread == 63) shared[64] = 7;
    if (deed == RACE_OF_WARPS && thread == 0) shared[64] = 7;
    if (deed == RACE_IN_STATIC && thread == 0) fixed[64] = 7;
    if (deed == RACE_IN_STATIC && thread == 1) data[0] = fixed[64];
    if (deed == DIVERGENT_BARRIER && thread == 40) __syncthreads();
    if (deed == EARLY_END && thread == 40) return;
    if (deed == DIVERGENT_SHUFFLE && thread != 40) data[thread] = __shfl_xor_sync(FULL_WARP, thread, 1);
    if (deed == PARTIAL_WARP) data[thread] = __shfl_xor_sync(0x0000ffffu, thread, 1);

    // A warp may use its own barrier for what stays in it, and many lanes may read one address.
    __syncwarp();
    if (deed == RACE_OF_WARPS && thread == 32) data[0] = shared[64];
    int first = shared[thread & 32];
    __syncwarp();
    shared[neighbour] = thread + first;
    __syncwarp();
    int given = shared[thread];
    __syncthreads();
    shared[63 - thread] = given;
    __syncthreads();
    data[thread] = shared[thread] + fixed[63 - thread];
}
