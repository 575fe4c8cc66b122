// Blocks that hand on numbers: the last one adds up what all have stored. By number of the deed, one rule is broken.

#include "volta.cuh"

enum Deed { GOOD, READ_UNHEARD, WRITE_UNHEARD, ARRIVE_TOO_SOON, READ_TOO_SOON, COUNT_OUTSIDE };

/// numbers: int [blocks, 64], each 1 afterwards. counter: 0 before and after. sums: int [64]. A thread has a column.
extern "C" __global__ void handover(int* numbers, unsigned* counter, int* sums, int deed) {
    __shared__ unsigned before;
    const int thread = threadIdx.x;
    if (deed == READ_UNHEARD && blockIdx.x == 1) sums[thread] = numbers[thread];
    if (deed == WRITE_UNHEARD && blockIdx.x == 1) numbers[thread] = 7;
    numbers[blockIdx.x * 64 + thread] = 1;
    if (deed != ARRIVE_TOO_SOON) __syncthreads();
    if (thread == 0) before = count_arrival(deed == COUNT_OUTSIDE ? counter + 1 : counter, gridDim.x - 1);
    if (deed == READ_TOO_SOON && blockIdx.x == 1 && thread == 1) sums[0] = numbers[0];
    __syncthreads();
    if (before != gridDim.x - 1) return;
    int sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) sum += numbers[block * 64 + thread];
    sums[thread] = sum;
}
