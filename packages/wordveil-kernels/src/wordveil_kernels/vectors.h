/* Vectors of 16 floats for the instructions that the including file is compiled for.
 *
 * LEVEL is 2 for AVX-512 with VNNI (one register), 1 for AVX2 with FMA (two), and 0 for anything else (four). */

#include <stdint.h>
#include <string.h>
#if LEVEL > 0
#include <immintrin.h>
#endif

#define LANES 16

#if LEVEL == 2

typedef __m512 vf;

static inline vf load(const float *from) { return _mm512_loadu_ps(from); }
static inline void store(float *to, vf value) { _mm512_storeu_ps(to, value); }
static inline vf all(float value) { return _mm512_set1_ps(value); }
static inline vf plus(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf minus(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf times(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf fused(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf larger(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf smaller(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf root(vf a) { return _mm512_sqrt_ps(a); }
static inline unsigned at_most(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }

#else

#if LEVEL == 1
#define PARTS 2
typedef __m256 part;
static inline part part_fused(part a, part b, part c) { return _mm256_fmadd_ps(a, b, c); }
static inline part part_larger(part a, part b) { return _mm256_max_ps(a, b); }
static inline part part_smaller(part a, part b) { return _mm256_min_ps(a, b); }
static inline part part_root(part a) { return _mm256_sqrt_ps(a); }
static inline unsigned part_at_most(part a, part b) {
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ));
}
#else
#define PARTS 4
typedef float part __attribute__((vector_size(16)));
typedef int32_t part_mask __attribute__((vector_size(16)));
static inline part part_fused(part a, part b, part c) { return a * b + c; }
static inline part part_larger(part a, part b) {
    part_mask keep = a > b;
    return (part)(((part_mask)a & keep) | ((part_mask)b & ~keep));
}
static inline part part_smaller(part a, part b) {
    part_mask keep = a < b;
    return (part)(((part_mask)a & keep) | ((part_mask)b & ~keep));
}
static inline part part_root(part a) {
    for (int i = 0; i < 4; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
}
static inline unsigned part_at_most(part a, part b) {
    part_mask is = (a <= b) & (part_mask){1, 2, 4, 8};
    return (unsigned)(is[0] | is[1] | is[2] | is[3]);
}
#endif

#define WIDTH (LANES / PARTS)

typedef struct {
    part parts[PARTS];
} vf;

#define EACH(statement)                                     \
    do {                                                    \
        _Pragma("GCC unroll 4") for (int i = 0; i < PARTS; i++) statement; \
    } while (0)

static inline vf load(const float *from) {
    vf out;
    EACH(memcpy(&out.parts[i], from + i * WIDTH, sizeof(part)));
    return out;
}

static inline void store(float *to, vf a) { EACH(memcpy(to + i * WIDTH, &a.parts[i], sizeof(part))); }

static inline vf all(float value) {
    vf out;
    part zero = {0.0f};
    EACH(out.parts[i] = zero + value);
    return out;
}

/* Defines an operation on two vectors, part by part. */
#define LANEWISE(name, expression)          \
    static inline vf name(vf a, vf b) {     \
        vf out;                             \
        EACH(out.parts[i] = expression);    \
        return out;                         \
    }

LANEWISE(plus, a.parts[i] + b.parts[i])
LANEWISE(minus, a.parts[i] - b.parts[i])
LANEWISE(times, a.parts[i] * b.parts[i])
LANEWISE(larger, part_larger(a.parts[i], b.parts[i]))
LANEWISE(smaller, part_smaller(a.parts[i], b.parts[i]))

static inline vf fused(vf a, vf b, vf c) {
    vf out;
    EACH(out.parts[i] = part_fused(a.parts[i], b.parts[i], c.parts[i]));
    return out;
}

static inline vf root(vf a) {
    EACH(a.parts[i] = part_root(a.parts[i]));
    return a;
}

static inline unsigned at_most(vf a, vf b) {
    unsigned out = 0;
    EACH(out |= part_at_most(a.parts[i], b.parts[i]) << (i * WIDTH));
    return out;
}

#endif

static inline float least(vf a) {
#if LEVEL == 2
    return _mm512_reduce_min_ps(a);
#else
    float values[LANES];
    store(values, a);
    for (int i = 1; i < LANES; i++) values[0] = values[i] < values[0] ? values[i] : values[0];
    return values[0];
#endif
}

/* Keeps the rows whose value is at least `least`; returns how many there are. */
static inline int keep(int32_t *rows, float *values, int count, float least) {
    int left = 0;
    for (int i = 0; i < count; i++)
        if (values[i] >= least) {
            rows[left] = rows[i];
            values[left++] = values[i];
        }
    return left;
}
