/* A stand-in for the NVIDIA management library: the calls that the pipeline makes, answered from a table that
   tests write with `set`. One card; an error number given to a call is what the call returns. */
#include <string.h>

enum { MEMORY_USED, PROCESS_BYTES, PROCESS_PID, OTHER_PID, POWER_MW, CLOCK_MHZ, HEAT_C, REASONS, ENERGY_MJ,
       ERROR_INIT, ERROR_READ, ERROR_PROCESSES, MIG, ERROR_POWER, LAST };
static unsigned long long table[LAST];
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } process_t;

void set(int key, unsigned long long value) { table[key] = value; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return (int)table[ERROR_INIT]; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : code == 4 ? "Insufficient Permissions" : "an error"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = table; return index == 0 ? (int)table[ERROR_READ] : 2; }
int nvmlDeviceGetName(void *h, char *name, unsigned size) { (void)h; strncpy(name, "NVIDIA H100 80GB HBM3", size); return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, "580.95.05", size); return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory_t *m) { (void)h; m->total = 80ull << 30; m->used = table[MEMORY_USED]; m->free = m->total - m->used; return (int)table[ERROR_READ]; }
int nvmlDeviceGetEnforcedPowerLimit(void *h, unsigned *mw) { (void)h; *mw = 700000; return (int)table[ERROR_POWER]; }
int nvmlDeviceGetEccMode(void *h, int *now, int *next) { (void)h; *now = *next = 1; return 0; }
int nvmlDeviceGetMigMode(void *h, unsigned *now, unsigned *next) { (void)h; *now = *next = (unsigned)table[MIG]; return 0; }
int nvmlDeviceGetMaxClockInfo(void *h, int kind, unsigned *mhz) { (void)h; (void)kind; *mhz = 1980; return 0; }
int nvmlDeviceGetClockInfo(void *h, int kind, unsigned *mhz) { (void)h; (void)kind; *mhz = (unsigned)table[CLOCK_MHZ]; return 0; }
int nvmlDeviceGetTemperature(void *h, int kind, unsigned *c) { (void)h; (void)kind; *c = (unsigned)table[HEAT_C]; return 0; }
int nvmlDeviceGetPowerUsage(void *h, unsigned *mw) { (void)h; *mw = (unsigned)table[POWER_MW]; return (int)table[ERROR_POWER]; }
int nvmlDeviceGetTotalEnergyConsumption(void *h, unsigned long long *mj) { (void)h; *mj = table[ENERGY_MJ]; return (int)table[ERROR_POWER]; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *h, unsigned long long *bits) { (void)h; *bits = table[REASONS]; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *count, process_t *list) {
  (void)h;
  if (table[ERROR_PROCESSES]) return (int)table[ERROR_PROCESSES];
  unsigned have = (table[PROCESS_PID] != 0) + (table[OTHER_PID] != 0), at = 0;
  if (list == 0) { *count = have; return have ? 7 : 0; }
  if (table[PROCESS_PID]) { list[at].pid = (unsigned)table[PROCESS_PID]; list[at++].used = table[PROCESS_BYTES]; }
  if (table[OTHER_PID]) { list[at].pid = (unsigned)table[OTHER_PID]; list[at++].used = 1ull << 30; }
  *count = at;
  return 0;
}
