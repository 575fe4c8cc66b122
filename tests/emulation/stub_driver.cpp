// A driver without a device: it writes down what it is asked, and fails when it is told to.

#include <cstdio>
#include <cstring>
#include <string>

static std::string journal;
static int status;

template <class... Values>
static int note(const char* format, Values... values) {
    char line[512];
    std::snprintf(line, sizeof line, format, values...);
    journal += std::string(line) + "\n";
    return status;
}

extern "C" {
const char* read_journal() { return journal.c_str(); }
void clear_journal(int next_status) {
    journal.clear();
    status = next_status;
}

int cuModuleLoadData(void** module, const void* image) {
    *module = reinterpret_cast<void*>(0x111);
    return note("load %s", static_cast<const char*>(image));
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    *function = reinterpret_cast<void*>(0x222);
    return note("function %s of %p", name, module);
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
    return note("attribute %d of %p is %d", attribute, function, value);
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
    long long address;
    float number;
    std::memcpy(&address, parameters[0], 8);
    std::memcpy(&number, parameters[2], 4);
    return note("launch %p grid %u %u %u block %u %u %u shared %u stream %p: %lld %d %g %p", function, gx, gy, gz, bx,
                by, bz, shared, stream, address, *static_cast<int*>(parameters[1]), number, static_cast<void*>(extra));
}
int cuGetErrorString(int error, const char** text) {
    *text = "out of luck";
    return error == 0;
}
}
