/* The nearest word in many dimensions: 8-bit products with certified bounds, nothing of them kept in memory.
 *
 * Points and rows are rotated, and rounded to integers times a step. The product of the integers is exact, and
 * the score q·r - |r|²/2 differs from it by at most |q|·|error of r| + |error of q|·|r| + extra. Points are in
 * the lanes of a register, so the best product of a strip of rows costs one instruction a row. A strip, and
 * then a row, that can't reach the best score that is certain is dropped; if the two nearest rows are wanted, one
 * that can't reach the second best. Float64 distances decide among the rest; what is too close for them, and all
 * candidates for two rows, are left to the caller. Include after vectors.h; not for LEVEL 0. */

#include "integers.h"
#include "kernels.h"
#include "tile.h"

#include <math.h>
#include <stdlib.h>

#define REGISTERS (TILE / LANES)
/* The products of 8 rows with a group of registers are summed at a time: as many sums as the 32 registers of AVX-512
 * hold beside them. AVX2 has 16, and a vector takes two, so some of its sums are spilled. Up to FEW points are faster
 * one by one. */
#define ROWS 8
#if LEVEL == 2
#define GROUP 3
#define FEW 2
#else
#define GROUP 1
#define FEW 4
#endif
#define NEAR 256           /* candidates of a point; with more, it is left to the caller */
#define STRIP CODES_STRIP  /* rows that share a step */

typedef struct {
    int32_t lane, strip;
    float reached;
} Open;

typedef struct {
    int count, overflowed;
    float first, second; /* the best scores that are certain, of the rows that were looked at */
    int32_t rows[NEAR];
    float reached[NEAR];
} Near;

/* The best product of a strip for 16·registers points, one lane each. */
static inline __attribute__((always_inline)) void strip_tops(const Codes *codes, int64_t strip, const uint8_t *packed,
                                                             int registers, vi *tops) {
    for (int t = 0; t < registers; t++) tops[t] = vi_all(INT32_MIN);
    for (int64_t row = strip * STRIP; row < (strip + 1) * STRIP; row += ROWS) {
        const int8_t *at = codes->codes + row * codes->width;
        vi sums[ROWS][GROUP];
        for (int r = 0; r < ROWS; r++)
            for (int t = 0; t < registers; t++) sums[r][t] = vi_all(codes->corrections[row + r]);
        for (int64_t four = 0; four < codes->fours; four++) {
            vi left[GROUP];
            for (int t = 0; t < registers; t++) left[t] = vi_load(packed + four * 4 * TILE + t * 64);
            for (int r = 0; r < ROWS; r++) {
                int32_t bytes;
                memcpy(&bytes, at + r * codes->width + four * 4, 4);
                vi right = vi_all(bytes);
                for (int t = 0; t < registers; t++) sums[r][t] = dot(sums[r][t], left[t], right);
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int t = 0; t < registers; t++) tops[t] = vi_larger(tops[t], sums[r][t]);
    }
}

/* Goes through all strips for a tile; writes the pairs of a point and a strip that may hold its answer. */
static inline __attribute__((always_inline)) int64_t open_strips(const Codes *codes, const uint8_t *packed,
                                                                 int registers, Facts *facts, Open *open) {
    int64_t count = 0;
    for (int64_t strip = 0; strip < codes->strips; strip++) {
        vi tops[REGISTERS];
        for (int t = 0; t < registers; t += GROUP)
            strip_tops(codes, strip, packed + t * 64, registers - t < GROUP ? registers - t : GROUP, tops + t);
        const float *about = codes->about + strip * 5; /* step, error, size, least and largest half */
        for (int t = 0; t < registers; t++) {
            int at = t * LANES;
            vf shrink = load(facts->shrinks + at);
            vf score = times(vi_float(tops[t]), times(load(facts->steps + at), all(about[0])));
            vf bound = fused(load(facts->lengths + at), all(about[1]),
                             fused(load(facts->errors + at), all(about[2]), load(facts->extras + at)));
            vf reached = minus(plus(score, bound), times(shrink, all(about[3])));
            vf lower = minus(minus(score, bound), times(shrink, all(about[4])));
            if (codes->wanted == 2) { /* strips have no row in common */
                vf first = load(facts->firsts + at);
                store(facts->firsts + at, larger(first, lower));
                lower = smaller(first, lower);
            }
            vf floor = larger(load(facts->floors + at), lower);
            store(facts->floors + at, floor);
            unsigned mask = at_most(floor, reached);
            if (!mask) continue;
            float values[LANES];
            store(values, reached);
            for (; mask; mask &= mask - 1) {
                int lane = __builtin_ctz(mask);
                open[count++] = (Open){at + lane, (int32_t)strip, values[lane]};
            }
        }
    }
    return count;
}

/* Raises the floor of a point by the score that one more row reaches for certain. A strip's best score must not count
 * beside that of its row, so rows have best scores of their own. */
static inline void raise_floor(const Codes *codes, float lower, float *floor, Near *near) {
    if (lower > near->first) {
        near->second = near->first;
        near->first = lower;
    } else if (lower > near->second)
        near->second = lower;
    float certain = codes->wanted == 2 ? near->second : near->first;
    if (certain > *floor) *floor = certain;
}

/* Looks at each row of a strip for one point. */
static void open_rows(const Codes *codes, int64_t strip, const uint8_t *point, int lane, Facts *facts, Near *near) {
    int64_t width = codes->width, first = strip * STRIP;
    int32_t products[STRIP];
    for (int r = 0; r < STRIP; r++) {
        const int8_t *row = codes->codes + (first + r) * width;
        vi sum = dot(vi_all(0), vi_load(point), vi_load(row));
        for (int64_t at = 64; at < width; at += 64) sum = dot(sum, vi_load(point + at), vi_load(row + at));
        products[r] = vi_sum(sum) + codes->corrections[first + r];
    }
    float unit = facts->steps[lane] * codes->about[strip * 5];
    for (int r = 0; r < STRIP; r += LANES) {
        const float *errors = codes->errors + first + r, *sizes = codes->sizes + first + r;
        vf half = times(all(facts->shrinks[lane]), load(codes->halves + first + r));
        vf score = minus(times(vi_float(vi_load(products + r)), all(unit)), half);
        vf bound = fused(all(facts->lengths[lane]), load(errors),
                         fused(all(facts->errors[lane]), load(sizes), all(facts->extras[lane])));
        vf reached = plus(score, bound);
        float values[LANES], lowers[LANES];
        store(values, reached);
        store(lowers, minus(score, bound));
        for (unsigned mask = at_most(all(facts->floors[lane]), reached); mask; mask &= mask - 1) {
            int i = __builtin_ctz(mask);
            if (values[i] < facts->floors[lane] || codes->order[first + r + i] < 0) continue;
            raise_floor(codes, lowers[i], &facts->floors[lane], near);
            if (near->count == NEAR) {
                near->count = keep(near->rows, near->reached, NEAR, facts->floors[lane]);
                if (near->count == NEAR) {
                    near->overflowed = 1;
                    return;
                }
            }
            near->rows[near->count] = codes->order[first + r + i];
            near->reached[near->count++] = values[i];
        }
    }
}

static double distance(const double *a, const double *b, int64_t dims) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t axis = 0;
    for (; axis + 4 <= dims; axis += 4)
        for (int i = 0; i < 4; i++) sums[i] += (a[axis + i] - b[axis + i]) * (a[axis + i] - b[axis + i]);
    for (; axis < dims; axis++) sums[0] += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Decides by float64 distances, from the highest bound on; returns 0 if two are too close. A score is half of
 * the squared norm less the squared distance, times `factor`; it is certain up to `slack`. */
static int decide(const Codes *codes, const double *point, Near *near, double norm, double factor, double slack,
                  int32_t *answer) {
    double best = INFINITY, second = INFINITY, score = -INFINITY;
    int first = 0;
    for (int i = 1; i < near->count; i++)
        if (near->reached[i] > near->reached[first]) first = i;
    for (int turn = -1; turn < near->count; turn++) {
        int i = turn < 0 ? first : turn;
        if (turn >= 0 && (i == first || near->reached[i] < score)) continue;
        double square = distance(point, codes->rows + near->rows[i] * codes->dims, codes->dims);
        if (square < best) {
            second = best;
            best = square;
            *answer = near->rows[i];
            score = (norm * norm - square) * 0.5 * factor - slack;
        } else if (square < second)
            second = square;
    }
    return second > best * (1.0 + codes->tolerance) + 0x1p-1000;
}

typedef struct {
    uint8_t *plain, *packed; /* codes of a tile: by point, and four dimensions of all points at a time */
    float *rotated;          /* four points */
    Open *open, *sorted;
} Scratch;

static void encode_tile(const Codes *codes, const Points *points, int64_t start, int size, const Scratch *scratch,
                        Facts *facts) {
    int64_t width = codes->width;
    memset(facts, 0, sizeof *facts);
    memset(scratch->packed, 128, (size_t)(TILE * width));
    for (int lane = 0; lane < size; lane++) {
        int64_t row = start + lane;
        if (lane % 4 == 0)
            rotate(codes, points->scaled + row * codes->dims, size - lane < 4 ? size - lane : 4, scratch->rotated);
        facts->lengths[lane] = points->lengths[row];
        facts->shrinks[lane] = points->shrinks[row];
        uint8_t *plain = scratch->plain + lane * width;
        encode(codes, scratch->rotated + lane % 4 * width, points->slacks[row], lane, plain, facts);
        for (int64_t four = 0; four < codes->fours; four++)
            memcpy(scratch->packed + four * 4 * TILE + lane * 4, plain + four * 4, 4);
    }
    for (int lane = size; lane < TILE; lane++) facts->floors[lane] = INFINITY;
}

/* Sorts pairs by their point; `ends` gets where each point's pairs end. */
static void sort_by_lane(const Open *open, int64_t count, Open *sorted, int64_t *ends) {
    memset(ends, 0, TILE * sizeof *ends);
    for (int64_t i = 0; i < count; i++)
        if (open[i].lane + 1 < TILE) ends[open[i].lane + 1]++;
    for (int lane = 1; lane < TILE; lane++) ends[lane] += ends[lane - 1];
    for (int64_t i = 0; i < count; i++) sorted[ends[open[i].lane]++] = open[i];
}

/* Answers one point from its open strips, or writes its pairs for the caller. */
static int64_t finish(const Codes *codes, const Points *points, int64_t row, Near *near, float floor, int64_t *answers,
                      int32_t *which, int32_t *candidates, int64_t room, int64_t pairs) {
    int left = near->count = keep(near->rows, near->reached, near->count, floor);
    int32_t answer = -1;
    double slack = 4.0 * points->slacks[row];
    if (near->overflowed || left == 0) {
        answers[row] = -2;
    } else if (codes->wanted == 1 && decide(codes, points->points + row * codes->dims, near, points->norms[row],
                                            points->factors[row], slack, &answer)) {
        answers[row] = answer;
    } else if (pairs + left > room) {
        answers[row] = -2;
    } else {
        answers[row] = -1;
        for (int i = 0; i < left; i++, pairs++) {
            which[pairs] = (int32_t)row;
            candidates[pairs] = near->rows[i];
        }
    }
    return pairs;
}

int64_t NAME(nearest_by_codes)(const Codes *codes, const Points *points, int64_t count, int64_t *answers,
                               int32_t *which, int32_t *candidates, int64_t room) {
    int64_t width = codes->width, pairs = 0, ends[TILE];
    int64_t lanes = count < TILE ? count : TILE;
    uint8_t *bytes = malloc((size_t)(2 * TILE + 16) * (size_t)width + 63);
    Open *open = malloc(2 * (size_t)lanes * (size_t)codes->strips * sizeof(Open));
    if (bytes == NULL || open == NULL) {
        free(bytes);
        free(open);
        return -1;
    }
    uint8_t *packed = bytes + (64 - (uintptr_t)bytes % 64) % 64; /* a register's load stays within a line of the cache */
    Scratch scratch = {packed + TILE * width, packed, (float *)(packed + 2 * TILE * width), open, open + lanes * codes->strips};
    Near near;
    Facts facts;
    for (int64_t start = 0; start < count; start += TILE) {
        int size = (int)(count - start < TILE ? count - start : TILE);
        encode_tile(codes, points, start, size, &scratch, &facts);
        int64_t at = 0;
        if (size > FEW) {
            int64_t total = size <= LANES       ? open_strips(codes, scratch.packed, 1, &facts, open)
                            : size <= 2 * LANES ? open_strips(codes, scratch.packed, 2, &facts, open)
                                                : open_strips(codes, scratch.packed, 3, &facts, open);
            sort_by_lane(open, total, scratch.sorted, ends);
        }
        for (int lane = 0; lane < size; lane++) {
            near.count = near.overflowed = 0;
            near.first = near.second = -INFINITY;
            int64_t stop = size > FEW ? ends[lane] : codes->strips, strip = 0;
            for (; (size > FEW ? at : strip) < stop && !near.overflowed; at++, strip++)
                if (size <= FEW || scratch.sorted[at].reached >= facts.floors[lane])
                    open_rows(codes, size > FEW ? scratch.sorted[at].strip : strip, scratch.plain + lane * width, lane,
                              &facts, &near);
            at = stop;
            pairs = finish(codes, points, start + lane, &near, facts.floors[lane], answers, which, candidates, room, pairs);
        }
    }
    free(bytes);
    free(open);
    return pairs;
}
