/* The loops for processors with AVX2 and FMA. */

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define LEVEL 1
#define NAME(name) name##_avx2

#include "cells.h"

#include "answers.h"
#include "codes.h"
#include "coded_cells.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
