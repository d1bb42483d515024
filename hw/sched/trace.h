#include "trace/trace-hw_sched.h"
