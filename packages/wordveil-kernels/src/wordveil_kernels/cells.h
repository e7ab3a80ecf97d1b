/* The nearest word in few dimensions: words in boxes, 16 words to a leaf and 16 leaves to a node.
 *
 * A box bounds the distances of its words from below. The words of the node with the least bound give a first
 * limit: how large the float32 distance of the answer can be, given the least one so far and all rounding.
 * Leaves beyond the limit are skipped. Every word within it is a candidate; the caller decides among several. If the
 * two nearest words are wanted, the limit is that of the second. */

#include "kernels.h"
#include "vectors.h"

#include <float.h>
#include <math.h>

#define KEPT 512
#define AT_ONCE 4 /* leaves that are scanned at a time */

/* The squared distance of a point to 16 boxes, stored by axis as 16 lower and 16 upper ends. */
static inline vf gaps(const float *boxes, const float *point, int64_t dims) {
    vf sum = all(0.0f);
    for (int64_t axis = 0; axis < dims; axis++) {
        vf place = all(point[axis]); /* less the nearest place within the box */
        vf gap = minus(place, smaller(larger(place, load(boxes + 32 * axis)), load(boxes + 32 * axis + LANES)));
        sum = fused(gap, gap, sum);
    }
    return sum;
}

/* The squared distance of a point to 16 words, stored by axis. */
static inline vf squares(const float *words, const float *point, int64_t dims) {
    vf sum = all(0.0f);
    for (int64_t axis = 0; axis < dims; axis++) {
        vf difference = minus(load(words + LANES * axis), all(point[axis]));
        sum = fused(difference, difference, sum);
    }
    return sum;
}

/* The same for AT_ONCE leaves, whose sums do not wait for each other. */
static inline void squares_of(const float *const *leaves, const float *point, int64_t dims, vf *sums) {
    for (int i = 0; i < AT_ONCE; i++) sums[i] = all(0.0f);
    for (int64_t axis = 0; axis < dims; axis++) {
        vf place = all(point[axis]);
        for (int i = 0; i < AT_ONCE; i++) {
            vf difference = minus(load(leaves[i] + LANES * axis), place);
            sums[i] = fused(difference, difference, sums[i]);
        }
    }
}

/* The largest float32 square that an answer can have, if as many words as are wanted have squares up to `best`. Moving point and
 * word to float32 changes their distance by at most `moved`; sums have a relative error of at most `relative`. */
static inline float limit(float best, double moved, double relative) {
    double distance = sqrt((double)best) * (1.0 + relative) + 2.0 * moved;
    return (float)(distance * distance * (1.0 + relative) * (1.0 + 0x1p-20)) * (1.0f + 0x1p-22f);
}

typedef struct {
    int wanted; /* 1 or 2 */
    float first, best, most; /* the least square, the one that the limit follows from, the limit */
    int count, overflowed;
    int32_t words[KEPT];
    float negated[KEPT]; /* the squares of their distances */
} Candidates;

/* The limit is finite from the start: an infinite one would let in a node whose bound was set to infinity because it
 * has been looked into, and count its words twice. */
static inline void clear(Candidates *kept, int wanted) {
    kept->wanted = wanted;
    kept->first = kept->best = INFINITY;
    kept->most = FLT_MAX;
    kept->count = kept->overflowed = 0;
}

static inline void lower_limit(Candidates *kept, float best, double moved, double relative) {
    float most = limit(best, moved, relative);
    if (most < kept->most) kept->most = most;
}

static void add(Candidates *kept, const int32_t *words, vf distances, unsigned mask, double moved, double relative) {
    float values[LANES];
    store(values, distances);
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        if (words[lane] < 0 || values[lane] > kept->most) continue;
        if (kept->count == KEPT) {
            kept->count = keep(kept->words, kept->negated, KEPT, -kept->most);
            if (kept->count == KEPT) {
                kept->overflowed = 1;
                return;
            }
        }
        kept->words[kept->count] = words[lane];
        kept->negated[kept->count++] = -values[lane];
        if (values[lane] < kept->best) {
            float low = values[lane] < kept->first ? values[lane] : kept->first;
            float high = values[lane] < kept->first ? kept->first : values[lane];
            kept->first = low;
            kept->best = kept->wanted == 2 ? high : low;
            lower_limit(kept, kept->best, moved, relative);
        }
    }
}

static inline void scan(const Cells *cells, int64_t leaf, const float *point, double moved, double relative,
                        Candidates *kept) {
    vf distances = squares(cells->places + leaf * LANES * cells->dims, point, cells->dims);
    unsigned mask = at_most(distances, all(kept->most));
    if (mask) add(kept, cells->words + leaf * LANES, distances, mask, moved, relative);
}

static float second_least(vf nearest, vf second) {
    float values[2 * LANES], low = INFINITY, high = INFINITY;
    store(values, nearest);
    store(values + LANES, second);
    for (int i = 0; i < 2 * LANES; i++) {
        if (values[i] < low) {
            high = low;
            low = values[i];
        } else if (values[i] < high)
            high = values[i];
    }
    return high;
}

/* Returns the node with the least key. */
static inline int64_t least_node(const Cells *cells, const float *keys) {
    vf lowest = load(keys);
    for (int64_t group = 1; group < cells->groups; group++) lowest = smaller(lowest, load(keys + group * LANES));
    vf least_key = all(least(lowest));
    int64_t node = 0, last = (cells->groups - 1) * LANES;
    unsigned mask = at_most(load(keys), least_key);
    while (!mask && node < last) mask = at_most(load(keys + (node += LANES)), least_key);
    return node + (mask ? __builtin_ctz(mask) : 0); /* of keys that are all NaN, none is at most the least */
}

/* Looks into all leaves of a node, before any other. */
static inline void begin_with(const Cells *cells, int64_t node, const float *point, double moved, double relative,
                              Candidates *kept) {
    /* The least distance first: then few words are ever kept. Padding is infinitely far away. */
    float distances[LANES * LANES];
    const float *places = cells->places + node * LANES * LANES * cells->dims;
    vf nearest = all(INFINITY), second = nearest;
    for (int64_t leaf = 0; leaf < LANES; leaf += AT_ONCE) {
        const float *leaves[AT_ONCE];
        vf sums[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) leaves[i] = places + (leaf + i) * LANES * cells->dims;
        squares_of(leaves, point, cells->dims, sums);
        for (int i = 0; i < AT_ONCE; i++) {
            store(distances + (leaf + i) * LANES, sums[i]);
            if (kept->wanted == 2) second = smaller(second, larger(nearest, sums[i]));
            nearest = smaller(nearest, sums[i]);
        }
    }
    lower_limit(kept, kept->wanted == 2 ? second_least(nearest, second) : least(nearest), moved, relative);
    for (int64_t leaf = 0; leaf < LANES; leaf++) {
        vf squared = load(distances + leaf * LANES);
        unsigned mask = at_most(squared, all(kept->most));
        if (mask) add(kept, cells->words + (node * LANES + leaf) * LANES, squared, mask, moved, relative);
    }
}

/* Writes the leaves within the limit, and their bounds; returns how many there are. */
static int64_t open_leaves(const Cells *cells, const float *bounds, const float *point, float most,
                           int32_t *leaves, float *gap) {
    int64_t count = 0;
    for (int64_t group = 0; group < cells->groups; group++)
        for (unsigned nodes = at_most(load(bounds + group * LANES), all(most)); nodes; nodes &= nodes - 1) {
            int64_t node = group * LANES + __builtin_ctz(nodes);
            vf bound = gaps(cells->leaves + node * 32 * cells->dims, point, cells->dims);
            unsigned open = at_most(bound, all(most));
#if LEVEL == 2
            __m512i numbers = _mm512_add_epi32(
                _mm512_set1_epi32((int)(node * LANES)),
                _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
            _mm512_storeu_si512(leaves + count, _mm512_maskz_compress_epi32((__mmask16)open, numbers));
            _mm512_storeu_ps(gap + count, _mm512_maskz_compress_ps((__mmask16)open, bound));
            count += __builtin_popcount(open);
#else
            float values[LANES];
            store(values, bound);
            for (; open; open &= open - 1) {
                leaves[count] = (int32_t)(node * LANES + __builtin_ctz(open));
                gap[count++] = values[__builtin_ctz(open)];
            }
#endif
        }
    return count;
}

/* Writes the answer of a point, or its candidates for the caller if there are several; returns the number of pairs. */
static int64_t write_answer(Candidates *kept, int64_t row, int64_t *answers, int32_t *which, int32_t *candidates,
                      int64_t room, int64_t pairs) {
    kept->count = keep(kept->words, kept->negated, kept->count, -kept->most);
    int is_answered = kept->count == 1 && kept->wanted == 1;
    if (kept->overflowed || kept->count == 0 || (!is_answered && pairs + kept->count > room)) {
        answers[row] = -2;
        return pairs;
    }
    answers[row] = is_answered ? kept->words[0] : -1;
    for (int i = 0; i < kept->count && !is_answered; i++, pairs++) {
        which[pairs] = (int32_t)row;
        candidates[pairs] = kept->words[i];
    }
    return pairs;
}

/* Scans some leaves of a list, as many as there are set bits. */
static inline void scan_leaves(const Cells *cells, const int32_t *leaves, unsigned open, const float *point,
                               double moved, double relative, Candidates *kept) {
    int64_t dims = cells->dims;
    while (open) {
        const float *places[AT_ONCE];
        int32_t chosen[AT_ONCE];
        vf distances[AT_ONCE];
        int count = 0;
        for (; open && count < AT_ONCE; open &= open - 1) chosen[count++] = leaves[__builtin_ctz(open)];
        for (int i = 0; i < AT_ONCE; i++) places[i] = cells->places + (int64_t)chosen[i < count ? i : 0] * LANES * dims;
        squares_of(places, point, dims, distances);
        vf nearest = smaller(smaller(distances[0], distances[1]), smaller(distances[2], distances[3]));
        if (!at_most(nearest, all(kept->most))) continue;
        for (int i = 0; i < count; i++) {
            unsigned mask = at_most(distances[i], all(kept->most));
            if (mask) add(kept, cells->words + (int64_t)chosen[i] * LANES, distances[i], mask, moved, relative);
        }
    }
}

int64_t NAME(nearest_in_cells)(const Cells *cells, const float *points, const double *moved, int64_t count,
                               int64_t *answers, int32_t *which, int32_t *candidates, int64_t room,
                               float *bounds, int32_t *leaves, float *leaf_bounds) {
    int64_t groups = cells->groups, dims = cells->dims, pairs = 0;
    double relative = (double)(dims + 8) * 0x1p-23;
    Candidates kept;
    for (int64_t row = 0; row < count; row++) {
        const float *point = points + row * dims;
        for (int64_t group = 0; group < groups; group++)
            store(bounds + group * LANES, gaps(cells->nodes + group * 32 * dims, point, dims));
        clear(&kept, cells->wanted);
        int64_t first = least_node(cells, bounds);
        begin_with(cells, first, point, moved[row], relative, &kept);
        bounds[first] = INFINITY; /* it has been looked into */
        int64_t open = open_leaves(cells, bounds, point, kept.most, leaves, leaf_bounds);
        for (int64_t i = 0; i < open; i += LANES) {
            unsigned within = at_most(load(leaf_bounds + i), all(kept.most));
            if (open - i < LANES) within &= (1u << (open - i)) - 1u;
            scan_leaves(cells, leaves + i, within, point, moved[row], relative, &kept);
        }
        pairs = write_answer(&kept, row, answers, which, candidates, room, pairs);
    }
    return pairs;
}
