// The device behind cuda_emulation.h: fibers, meetings, and the checks of every memory access. Not itself instrumented.

#include "cuda_emulation.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <ucontext.h>
#include <vector>

// Bounds of the section that static shared variables lie in; absent where a kernel has none.
extern char __start_emulated_shared[] __attribute__((weak));
extern char __stop_emulated_shared[] __attribute__((weak));

namespace emulation {
namespace {

constexpr unsigned WARP = 32;
constexpr std::size_t STACK_BYTES = 128 * 1024;

const char* const MEETING_NAMES[] = {"nowhere",  "__syncthreads", "__syncwarp", "a shuffle",
                                     "a ballot", "mma (row.col)", "mma (row.row)"};

/// One thread of the block.
struct Fiber {
    ucontext_t start;
    jmp_buf resume;
    std::unique_ptr<char[]> stack{new char[STACK_BYTES]};
    bool started;
    bool finished;
    Meeting meeting;
    unsigned mask;
    Exchange* exchange;
};

constexpr int NOBODY = -1;
constexpr int SEVERAL = -2;

/// Who touched a byte of shared memory last, and when: phases lie between barriers, of the block and of the warp.
struct Access {
    int thread = NOBODY;
    int warp = NOBODY;
    int phase = 0;
    int warp_phase = 0;
};

struct ByteHistory {
    Access write, read;
};

/// When a thread did something that other blocks may have to hear of; block 0 is none.
struct Moment {
    std::uint32_t block = 0;
    int thread = NOBODY;
    int phase = 0;

    /// Whether this thread, or the others since the next barrier, may build upon it.
    bool precedes(const Moment& later) const {
        return block == later.block && (thread == later.thread || phase < later.phase);
    }
};

/// Registered memory, and for each byte the block that read it last and when it was written.
struct Memory {
    const char* start;
    std::vector<std::uint32_t> reader;
    std::vector<Moment> written;
};

struct Block {
    const char* kernel;
    Body body;
    void** arguments;
    uint3 grid, index;
    std::uint32_t number; // of this block in the launch, from 1
    unsigned threads;
    std::vector<Memory> memories;
    char* shared_start;
    std::size_t shared_bytes;
    std::vector<ByteHistory> dynamic_history, static_history;
    int phase;
    std::vector<int> warp_phases;
    std::map<const unsigned*, std::vector<Moment>> arrivals; // at each counter
    std::vector<Moment> heard;                               // arrivals of others before this block's own
    Moment arrival;                                          // the latest of this block
    int current = -1;
    jmp_buf scheduler;
    std::string error;
    std::int64_t bytes_read, bytes_written;
};

Block block;
std::vector<Fiber> fibers;

std::string describe(int thread) {
    return "thread " + std::to_string(thread) + " of block (" + std::to_string(block.index.x) + ", " +
           std::to_string(block.index.y) + ", " + std::to_string(block.index.z) + ")";
}

/// Record why the launch fails; the thread that did it never runs again.
[[noreturn]] void fail(const std::string& what) {
    block.error = std::string(block.kernel) + ": " + what;
    std::longjmp(block.scheduler, 1);
}

void wait(Meeting meeting, unsigned mask, Exchange* exchange) {
    Fiber& fiber = fibers[block.current];
    fiber.meeting = meeting;
    fiber.mask = mask;
    fiber.exchange = exchange;
    if (_setjmp(fiber.resume) == 0) std::longjmp(block.scheduler, 1);
}

void run_fiber() {
    block.body(block.arguments);
    fibers[block.current].finished = true;
    std::longjmp(block.scheduler, 1);
}

void prepare(Fiber& fiber) {
    fiber.started = fiber.finished = false;
    fiber.meeting = Meeting::none;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber.start, run_fiber, 0);
}

/// Run a thread until it waits, ends or fails.
void resume(unsigned thread) {
    Fiber& fiber = fibers[thread];
    block.current = static_cast<int>(thread);
    fiber.meeting = Meeting::none;
    if (_setjmp(block.scheduler) == 0) {
        if (fiber.started) std::longjmp(fiber.resume, 1);
        fiber.started = true;
        setcontext(&fiber.start);
    }
    block.current = -1;
}

std::string whereabouts(const Fiber& fiber) {
    return fiber.finished ? "has ended" : std::string("waits at ") + MEETING_NAMES[static_cast<int>(fiber.meeting)];
}

/// Whether the threads agree on where they are; the first that does not is the error.
bool together(unsigned first, unsigned count) {
    for (unsigned thread = first + 1; thread < first + count; ++thread) {
        const Fiber &one = fibers[first], &other = fibers[thread];
        if (one.finished == other.finished && (one.finished || one.meeting == other.meeting)) continue;
        block.error = std::string(block.kernel) + ": divergence: " + describe(static_cast<int>(first)) + " " +
                      whereabouts(one) + ", thread " + std::to_string(thread) + " " + whereabouts(other);
        return false;
    }
    return true;
}

float half_of(const unsigned (&words)[4], int first, int element) {
    return half_to_float(static_cast<std::uint16_t>(words[first + element / 2] >> 16 * (element % 2)));
}

/// PTX ISA, "Matrix fragments for mma.m8n8k4 with .f16 floating point type".
void multiply(Fiber* lanes, bool row_major_b) {
    for (unsigned pair = 0; pair < 4; ++pair) {
        float a[8][4], b[4][8];
        for (unsigned member = 0; member < 8; ++member) {
            unsigned t = member % 4, high = member / 4;
            const Exchange& lane = *lanes[pair * 4 + t + 16 * high].exchange;
            for (int i = 0; i < 4; ++i) {
                a[t + 4 * high][i] = half_of(lane.words, 0, i);
                if (row_major_b)
                    b[t][4 * high + i] = half_of(lane.words, 2, i);
                else
                    b[i][t + 4 * high] = half_of(lane.words, 2, i);
            }
        }
        for (unsigned member = 0; member < 8; ++member) {
            unsigned t = member % 4, high = member / 4;
            Exchange& lane = *lanes[pair * 4 + t + 16 * high].exchange;
            for (unsigned i = 0; i < 8; ++i) {
                unsigned row = (t & 1) + (i & 2) + 4 * high, column = (i & 4) + (t & 2) + (i & 1);
                for (int k = 0; k < 4; ++k) lane.accumulator[i] += a[row][k] * b[k][column];
            }
        }
    }
}

/// All lanes of a warp have come: do what they came for.
void conclude(unsigned first) {
    Fiber* lanes = &fibers[first];
    switch (lanes->meeting) {
    case Meeting::shuffle:
        for (unsigned lane = 0; lane < WARP; ++lane)
            lanes[lane].exchange->result = lanes[lanes[lane].exchange->words[1]].exchange->words[0];
        break;
    case Meeting::ballot: {
        unsigned votes = 0;
        for (unsigned lane = 0; lane < WARP; ++lane) votes |= lanes[lane].exchange->words[0] << lane;
        for (unsigned lane = 0; lane < WARP; ++lane) lanes[lane].exchange->result = votes;
        break;
    }
    case Meeting::mma_row_col:
    case Meeting::mma_row_row:
        multiply(lanes, lanes->meeting == Meeting::mma_row_row);
        break;
    case Meeting::warp_barrier:
        ++block.warp_phases[first / WARP];
        break;
    case Meeting::none:
    case Meeting::block_barrier:
        break;
    }
}

/// Run a warp until its lanes wait for the block or have ended.
bool run_warp(unsigned first) {
    do {
        for (unsigned thread = first; thread < first + WARP; ++thread) {
            resume(thread);
            if (!block.error.empty()) return false;
        }
        if (!together(first, WARP)) return false;
        if (fibers[first].finished || fibers[first].meeting == Meeting::block_barrier) return true;
        conclude(first);
    } while (true);
}

void run_block() {
    for (unsigned thread = 0; thread < block.threads; ++thread) prepare(fibers[thread]);
    block.dynamic_history.assign(block.shared_bytes, {});
    block.static_history.assign(__stop_emulated_shared - __start_emulated_shared, {});
    // All ones is NaN in every float format, should a read of it ever go unseen.
    std::memset(block.shared_start, 0xff, block.shared_bytes);
    block.phase = 0;
    block.warp_phases.assign(block.threads / WARP, 0);
    block.heard.clear();
    block.arrival = {};
    do {
        for (unsigned first = 0; first < block.threads; first += WARP)
            if (!run_warp(first)) return;
        if (!together(0, block.threads)) return;
        ++block.phase;
    } while (!fibers[0].finished);
}

ByteHistory* shared_history(const char* address) {
    if (address >= block.shared_start && address < block.shared_start + block.shared_bytes)
        return &block.dynamic_history[address - block.shared_start];
    if (address >= __start_emulated_shared && address < __stop_emulated_shared)
        return &block.static_history[address - __start_emulated_shared];
    return nullptr;
}

Access current_access() {
    int warp = block.current / static_cast<int>(WARP);
    return {block.current, warp, block.phase, block.warp_phases[warp]};
}

/// Whether a barrier lies between an earlier access and this one of another thread.
bool ordered(const Access& earlier, const Access& now) {
    return earlier.thread == NOBODY || earlier.thread == now.thread || earlier.phase != now.phase ||
           (earlier.warp == now.warp && earlier.warp_phase != now.warp_phase);
}

std::string name_shared(const char* address) {
    bool dynamic = address >= block.shared_start && address < block.shared_start + block.shared_bytes;
    return (dynamic ? " at shared address " : " at static shared address ") +
           std::to_string(address - (dynamic ? block.shared_start : __start_emulated_shared));
}

void check_shared(ByteHistory& byte, const char* address, bool write) {
    Access now = current_access();
    auto complain = [&](const char* does, const Access& earlier, const char* did) {
        std::string other = earlier.thread == SEVERAL ? "several threads" : "thread " + std::to_string(earlier.thread);
        fail("race" + name_shared(address) + ": " + describe(now.thread) + does + other + did +
             " since the last barrier");
    };
    if (!ordered(byte.write, now)) complain(write ? " writes what " : " reads what ", byte.write, " wrote");
    if (write) {
        if (!ordered(byte.read, now)) complain(" writes what ", byte.read, " read");
        byte.write = now;
        return;
    }
    if (byte.write.thread == NOBODY)
        fail("uninitialised read" + name_shared(address) + " by " + describe(now.thread));
    if (!ordered(byte.read, now)) {
        if (byte.read.warp != now.warp) now.warp = SEVERAL;
        now.thread = SEVERAL;
    }
    byte.read = now;
}

bool in_own_stack(const char* address) {
    const char* stack = fibers[block.current].stack.get();
    return address >= stack && address < stack + STACK_BYTES;
}

Memory* memory_of(const char* address, std::size_t size) {
    for (Memory& memory : block.memories)
        if (address >= memory.start && address + size <= memory.start + memory.reader.size()) return &memory;
    return nullptr;
}

Moment this_moment() { return {block.number, block.current, block.phase}; }

/// Whether the current thread may touch what was written then.
bool has_heard_of(const Moment& written) {
    if (written.block == 0 || written.block == block.number) return true;
    return block.arrival.precedes(this_moment()) &&
           std::any_of(block.heard.begin(), block.heard.end(),
                       [&](const Moment& arrival) { return written.precedes(arrival); });
}

void check_blocks(const Memory& memory, const char* address, std::size_t size, bool write) {
    for (std::size_t byte = address - memory.start; byte < address - memory.start + size; ++byte)
        if (!has_heard_of(memory.written[byte]))
            fail("race of blocks: " + describe(block.current) + (write ? " writes" : " reads") +
                 " what another block wrote, without having heard of it");
}

/// Count the bytes that this block reads for the first time: what it reads again is in a cache.
void count_read(Memory& memory, const char* address, std::size_t size) {
    for (std::size_t byte = address - memory.start; byte < address - memory.start + size; ++byte) {
        block.bytes_read += memory.reader[byte] != block.number;
        memory.reader[byte] = block.number;
    }
}

void access(const void* pointer, std::size_t size, bool write) {
    if (block.current < 0) return;
    const char* address = static_cast<const char*>(pointer);
    if (in_own_stack(address)) return;
    // What is copied at once is a vector of 16 bytes at most; longer ranges are whole structures.
    bool vector = size <= 16 && (size & (size - 1)) == 0;
    if (vector && reinterpret_cast<std::uintptr_t>(address) % size != 0)
        fail("misaligned access of " + std::to_string(size) + " bytes by " + describe(block.current));
    if (shared_history(address)) {
        for (std::size_t byte = 0; byte < size; ++byte) {
            ByteHistory* history = shared_history(address + byte);
            if (!history) fail("access beyond shared memory by " + describe(block.current));
            check_shared(*history, address + byte, write);
        }
        return;
    }
    Memory* memory = memory_of(address, size);
    if (!memory)
        fail("out of bounds: " + describe(block.current) + (write ? " writes " : " reads ") + std::to_string(size) +
             " bytes outside every registered range");
    check_blocks(*memory, address, size, write);
    if (write) {
        block.bytes_written += static_cast<std::int64_t>(size);
        std::fill_n(memory->written.begin() + (address - memory->start), size, this_moment());
    } else {
        count_read(*memory, address, size);
    }
}

} // namespace

uint3 thread_index() { return {static_cast<unsigned>(block.current), 0, 0}; }
uint3 block_index() { return block.index; }
uint3 block_size() { return {block.threads, 1, 1}; }
uint3 grid_size() { return block.grid; }
void* shared_memory() { return block.shared_start; }
void block_barrier() { wait(Meeting::block_barrier, ALL_LANES, nullptr); }

unsigned count_arrival(unsigned* counter, unsigned last) {
    Memory* memory = memory_of(reinterpret_cast<const char*>(counter), sizeof(unsigned));
    if (!memory) fail("out of bounds: " + describe(block.current) + " counts outside every registered range");
    count_read(*memory, reinterpret_cast<const char*>(counter), sizeof(unsigned));
    block.bytes_written += sizeof(unsigned);
    std::vector<Moment>& arrived = block.arrivals[counter];
    block.heard.insert(block.heard.end(), arrived.begin(), arrived.end());
    block.arrival = this_moment();
    arrived.push_back(block.arrival);
    unsigned before = *counter;
    *counter = before >= last ? 0 : before + 1;
    return before;
}

void meet(Meeting meeting, unsigned mask, Exchange& exchange) {
    if (mask != ALL_LANES) fail("a mask that is not the full warp, by " + describe(block.current));
    wait(meeting, mask, &exchange);
}

float half_to_float(std::uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                      : std::ldexp(static_cast<float>(fraction | 1024), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

std::uint16_t to_half(double value) {
    std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    double magnitude = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    // A normal half has 11 significant bits, a subnormal one counts steps of 2^-24.
    int step = magnitude < 0x1p-14 ? -24 : std::ilogb(magnitude) - 10;
    double rounded = std::isinf(magnitude) ? magnitude : std::nearbyint(std::ldexp(magnitude, -step));
    if (std::ldexp(rounded, step) > 65504.0) return sign | 0x7c00;
    // A fraction that rounds up to a power of two carries into the exponent by itself.
    return static_cast<std::uint16_t>(sign | (((step + 24) << 10) + static_cast<int>(rounded)));
}

Report launch(const char* name, Body body, void** arguments, const unsigned* grid, unsigned threads,
              unsigned shared_bytes, const Range* ranges, int range_count, bool backwards) {
    static std::string error;
    block.kernel = name;
    block.body = body;
    block.arguments = arguments;
    block.grid = {grid[0], grid[1], grid[2]};
    block.threads = threads;
    block.arrivals.clear();
    block.memories.clear();
    for (const Range* range = ranges; range < ranges + range_count; ++range)
        block.memories.push_back({static_cast<const char*>(range->start), std::vector<std::uint32_t>(range->bytes),
                                  std::vector<Moment>(range->bytes)});
    block.error = threads % WARP ? std::string(name) + ": a block is made of whole warps" : "";
    block.bytes_read = block.bytes_written = 0;
    block.shared_bytes = shared_bytes;
    std::unique_ptr<char, decltype(&std::free)> shared(
        static_cast<char*>(std::aligned_alloc(16, (shared_bytes + 31) / 16 * 16)), std::free);
    block.shared_start = shared.get();
    if (fibers.size() < threads) fibers = std::vector<Fiber>(threads);
    const unsigned blocks = grid[0] * grid[1] * grid[2];
    for (unsigned turn = 0; turn < blocks && block.error.empty(); ++turn) {
        unsigned place = backwards ? blocks - 1 - turn : turn;
        block.number = place + 1;
        block.index = {place % grid[0], place / grid[0] % grid[1], place / grid[0] / grid[1]};
        run_block();
    }
    error = block.error;
    return {error.empty() ? nullptr : error.c_str(), block.bytes_read, block.bytes_written};
}

} // namespace emulation

// The hooks that -fsanitize=thread calls.
#define ACCESS_HOOKS(SIZE)                                                                                             \
    void __tsan_read##SIZE(void* address) { emulation::access(address, SIZE, false); }                                 \
    void __tsan_write##SIZE(void* address) { emulation::access(address, SIZE, true); }

extern "C" {
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* address, unsigned long size) { emulation::access(address, size, false); }
void __tsan_write_range(void* address, unsigned long size) { emulation::access(address, size, true); }
}
