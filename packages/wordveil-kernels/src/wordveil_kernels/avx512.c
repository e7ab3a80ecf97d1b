/* The loops for processors with AVX-512 and VNNI. */

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")
#endif

#define LEVEL 2
#define NAME(name) name##_avx512

#include "cells.h"

#include "answers.h"
#include "codes.h"
#include "coded_cells.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
