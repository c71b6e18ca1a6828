#include "runtime/interrupt.h"

atomic_bool rt_interrupt_flag;
