/* Vectors of 16 integers, and products of bytes. Include after vectors.h; not for LEVEL 0. */

#if LEVEL == 2

typedef __m512i vi;
static inline vi vi_all(int32_t value) { return _mm512_set1_epi32(value); }
static inline vi vi_load(const void *from) { return _mm512_loadu_si512(from); }
static inline void vi_store(void *to, vi value) { _mm512_storeu_si512(to, value); }
static inline vi vi_larger(vi a, vi b) { return _mm512_max_epi32(a, b); }
static inline vi vi_smaller(vi a, vi b) { return _mm512_min_epi32(a, b); }
static inline unsigned vi_at_most(vi a, vi b) { return _mm512_cmple_epi32_mask(a, b); }
/* One where a is less than b, the other elsewhere. */
static inline vi vi_where_less(vi a, vi b, vi one, vi other) {
    return _mm512_mask_mov_epi32(other, _mm512_cmplt_epi32_mask(a, b), one);
}
static inline vf vi_float(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vi vi_rounded(vf a) { return _mm512_cvtps_epi32(a); }
/* Adds the products of four unsigned and four signed bytes to each lane. The intrinsic makes GCC copy every sum. */
static inline vi dot(vi sum, vi left, vi right) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
    return sum;
}
static inline int32_t vi_sum(vi a) { return _mm512_reduce_add_epi32(a); }

#else

typedef struct {
    __m256i low, high;
} vi;
static inline vi vi_all(int32_t value) { return (vi){_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
static inline vi vi_load(const void *from) {
    return (vi){_mm256_loadu_si256(from), _mm256_loadu_si256((const __m256i *)from + 1)};
}
static inline void vi_store(void *to, vi value) {
    _mm256_storeu_si256(to, value.low);
    _mm256_storeu_si256((__m256i *)to + 1, value.high);
}
static inline vi vi_larger(vi a, vi b) {
    return (vi){_mm256_max_epi32(a.low, b.low), _mm256_max_epi32(a.high, b.high)};
}
static inline vi vi_smaller(vi a, vi b) {
    return (vi){_mm256_min_epi32(a.low, b.low), _mm256_min_epi32(a.high, b.high)};
}
static inline unsigned vi_at_most(vi a, vi b) {
    unsigned low = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a.low, b.low)));
    unsigned high = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a.high, b.high)));
    return ~(low | high << 8) & 0xffffu;
}
static inline vi vi_where_less(vi a, vi b, vi one, vi other) {
    return (vi){_mm256_blendv_epi8(other.low, one.low, _mm256_cmpgt_epi32(b.low, a.low)),
                _mm256_blendv_epi8(other.high, one.high, _mm256_cmpgt_epi32(b.high, a.high))};
}
static inline vf vi_float(vi a) { return (vf){{_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}}; }
static inline vi vi_rounded(vf a) { return (vi){_mm256_cvtps_epi32(a.parts[0]), _mm256_cvtps_epi32(a.parts[1])}; }
/* The sum of two products must fit into 16 bits: codes of rows are at most 63 here. */
static inline __m256i dot_half(__m256i sum, __m256i left, __m256i right) {
    __m256i pairs = _mm256_maddubs_epi16(left, right);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
static inline vi dot(vi sum, vi left, vi right) {
    return (vi){dot_half(sum.low, left.low, right.low), dot_half(sum.high, left.high, right.high)};
}
static inline int32_t vi_sum(vi a) {
    __m256i both = _mm256_add_epi32(a.low, a.high);
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return _mm_cvtsi128_si32(sum);
}

#endif
