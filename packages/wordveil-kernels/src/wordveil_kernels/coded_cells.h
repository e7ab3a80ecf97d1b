/* The nearest word in some dimensions: boxes rule out nodes, 8-bit products most leaves of the others.
 *
 * The words of a node are stored once more, as codes: integers times the step of the node, relative to its middle m.
 * A point p is rounded once, to integers times a step that all points share. With r̂ for the rounded word less the
 * middle, half of the squared distance less |p - m|²/2 is
 *
 *     |r - m|²/2 + m·r̂ - p̂·r̂ - f·r̂ - (p - m)·e,
 *
 * where f and e are what was rounded off the point and the word. The first two terms are stored with each word, in
 * units of the product of both steps, rounded down; the third is an exact product of integers; the last two are at
 * most |f|·|r̂| + |p - m|·|e|. So whether 16 words are all certainly beyond the limit takes integers only. The leaves
 * that are left are scanned as in cells.h. Include after cells.h and integers.h; not for LEVEL 0. */

#define CODED_DIMS 64 /* at most */
#define FOURS (CODED_DIMS / 4)
/* Points that read the codes of a node together: with up to 16 dimensions, their own codes stay in registers. */
#define TOGETHER (LEVEL == 2 ? 4 : 2)

/* What is known of the points of a tile while its nodes are looked at, one lane each. */
typedef struct {
    float points[CODED_DIMS][CODED_POINTS]; /* by axis */
    float padded[CODED_POINTS][CODED_DIMS]; /* by point, with zeros */
    int32_t codes[CODED_POINTS][FOURS];     /* four axes to an integer, each plus 128 */
    float lost[CODED_POINTS];               /* how far the rounded point is from the point */
    float limits[CODED_POINTS];             /* of squared distances */
    int32_t nearest[CODED_POINTS];          /* the node whose middle is nearest */
    Candidates kept[CODED_POINTS];
} Tile;

static void encode_point(const float *point, int64_t dims, float step, int32_t *codes, float *lost) {
    uint8_t bytes[CODED_DIMS];
    float per_step = 1.0f / step, rest = 0.0f, length = 0.0f;
    memset(bytes, 128, sizeof bytes);
    for (int64_t axis = 0; axis < dims; axis++) {
        float scaled = point[axis] * per_step;
        scaled = scaled < -127.0f ? -127.0f : scaled > 127.0f ? 127.0f : scaled; /* the rest is then larger */
        int32_t code = (int32_t)lrintf(scaled);
        float difference = point[axis] - step * (float)code;
        rest += difference * difference;
        length += point[axis] * point[axis];
        bytes[axis] = (uint8_t)(code + 128);
    }
    memcpy(codes, bytes, sizeof bytes);
    *lost = 1.001f * sqrtf(rest) + 0x1p-20f * sqrtf(length) + 0x1p-60f;
}

static void enter(const CodedCells *coded, const float *points, int size, Tile *tile) {
    int64_t dims = coded->cells.dims;
    for (int i = 0; i < CODED_POINTS; i++) {
        const float *point = points + (i < size ? i : 0) * dims;
        for (int64_t axis = 0; axis < dims; axis++) tile->points[axis][i] = tile->padded[i][axis] = point[axis];
        encode_point(point, dims, coded->step, tile->codes[i], &tile->lost[i]);
        clear(&tile->kept[i], coded->cells.wanted);
        tile->limits[i] = 0.0f;
    }
}

/* Writes the squared distances of the points to the boxes of all nodes, and to their middles, 16 points together. */
static void bound_nodes(const CodedCells *coded, Tile *tile, float *bounds, float *squares_of_nodes) {
    const Cells *cells = &coded->cells;
    int64_t dims = cells->dims, nodes = cells->groups * LANES;
    vf lowest = all(INFINITY);
    for (int64_t node = 0; node < nodes; node++) {
        const float *box = cells->nodes + node / LANES * 32 * dims + node % LANES;
        const float *middle = coded->centres + node / LANES * LANES * dims + node % LANES;
        vf bound = all(0.0f), square = all(0.0f);
        for (int64_t axis = 0; axis < dims; axis++) {
            vf place = load(tile->points[axis]);
            vf nearest = smaller(larger(place, all(box[32 * axis])), all(box[32 * axis + LANES]));
            vf gap = minus(place, nearest), difference = minus(place, all(middle[LANES * axis]));
            bound = fused(gap, gap, bound);
            square = fused(difference, difference, square);
        }
        store(bounds + node * LANES, bound);
        store(squares_of_nodes + node * LANES, square);
        lowest = smaller(lowest, square);
    }
    unsigned left = (1u << CODED_POINTS) - 1u;
    for (int64_t node = 0; node < nodes && left; node++) {
        unsigned mask = at_most(load(squares_of_nodes + node * LANES), lowest) & left;
        for (left &= ~mask; mask; mask &= mask - 1) tile->nearest[__builtin_ctz(mask)] = (int32_t)node;
    }
    for (; left; left &= left - 1) tile->nearest[__builtin_ctz(left)] = 0; /* points that are NaN */
}

/* Writes the largest integer that a word of the node within the limit can have, for each point. */
static inline void integer_limits(const CodedCells *coded, int64_t node, const float *squares_of_nodes, double relative,
                                  const Tile *tile, int32_t *most) {
    const float *about = coded->about + node * 3; /* units to a 1, largest length and error of its words */
    vf square = load(squares_of_nodes + node * LANES), lost = load(tile->lost);
    vf length = times(root(square), all(1.0f + 0x1p-12f)), sum = plus(length, all(about[1]));
    vf error = fused(lost, all(about[1]), times(length, all(about[2])));
    /* What rounding adds: of the squares, and of the sums here. */
    error = times(fused(times(sum, sum), all(2.0f * (float)relative), error), all(1.0f + 0x1p-12f));
    vf half = minus(times(load(tile->limits), all(0.5f * (1.0f + 0x1p-12f))), times(square, all(0.5f)));
    vf units = times(plus(half, error), all(about[0]));
    units = plus(fused(larger(units, minus(all(0.0f), units)), all(0x1p-20f), units), all(2.0f));
    /* Codes whose integers would be too large have -2³⁰, and are always within; padding has 2³¹ - 1 less products. */
    vi_store(most, vi_rounded(smaller(larger(units, all(-0x1p29f)), all(0x1p30f))));
}

/* The integers of 16 words. */
static inline __attribute__((always_inline)) vi leaf_integers(const int32_t *corrections, const int8_t *codes, const vi *left,
                                                              int fours) {
    vi sum = vi_load(corrections);
    for (int four = 0; four < fours; four++) sum = dot(sum, left[four], vi_load(codes + four * 64));
    return sum;
}

/* Returns which leaves of a node may have a word within the limit, one bit each. */
static inline __attribute__((always_inline)) unsigned leaves_within(const CodedCells *coded, int64_t node, const vi *left,
                                                                  int32_t most, int fours) {
    unsigned open = 0;
    for (int leaf = 0; leaf < LANES; leaf++) {
        int64_t at = node * LANES + leaf;
        vi sum = leaf_integers(coded->corrections + at * LANES, coded->codes + at * fours * 64, left, fours);
        open |= (unsigned)(vi_at_most(sum, vi_all(most)) != 0) << leaf;
    }
    return open;
}

/* Returns the leaf with the least integer. */
static inline __attribute__((always_inline)) int first_leaf(const CodedCells *coded, int64_t node, const int32_t *point,
                                                            int fours) {
    vi left[FOURS], lowest = vi_all(INT32_MAX), leaves = lowest;
    for (int four = 0; four < fours; four++) left[four] = vi_all(point[four]);
    for (int leaf = 0; leaf < LANES; leaf++) {
        int64_t at = node * LANES + leaf;
        vi sum = leaf_integers(coded->corrections + at * LANES, coded->codes + at * fours * 64, left, fours);
        leaves = vi_where_less(sum, lowest, vi_all(leaf), leaves);
        lowest = vi_smaller(lowest, sum);
    }
    int32_t values[2 * LANES];
    vi_store(values, lowest);
    vi_store(values + LANES, leaves);
    int best = 0;
    for (int i = 1; i < LANES; i++) best = values[i] < values[best] ? i : best;
    return values[LANES + best];
}

/* Screens a node for some points together, so that its codes are read once. First only whether any word is within the
 * limit: for nine nodes of ten at 15 dimensions none is. */
static inline __attribute__((always_inline)) void screen(const CodedCells *coded, int64_t node, const Tile *tile,
                                                         const int *which, const int32_t *most, int fours, int together,
                                                         unsigned *open) {
    vi left[TOGETHER][FOURS], lowest[TOGETHER];
    for (int i = 0; i < together; i++) {
        for (int four = 0; four < fours; four++) left[i][four] = vi_all(tile->codes[which[i]][four]);
        lowest[i] = vi_all(INT32_MAX);
    }
    const int32_t *corrections = coded->corrections + node * LANES * LANES;
    const int8_t *codes = coded->codes + node * LANES * fours * 64;
    for (int leaf = 0; leaf < LANES; leaf++) {
        vi sums[TOGETHER];
        for (int i = 0; i < together; i++) sums[i] = vi_load(corrections + leaf * LANES);
        for (int four = 0; four < fours; four++) {
            vi words = vi_load(codes + (leaf * fours + four) * 64);
            for (int i = 0; i < together; i++) sums[i] = dot(sums[i], left[i][four], words);
        }
        for (int i = 0; i < together; i++) lowest[i] = vi_smaller(lowest[i], sums[i]);
    }
    for (int i = 0; i < together; i++) {
        int32_t limit = most[which[i]];
        open[i] = vi_at_most(lowest[i], vi_all(limit)) ? leaves_within(coded, node, left[i], limit, fours) : 0;
    }
}

#define EACH_FOURS(dims, CASE)                                                                        \
    switch (((dims) + 3) / 4) {                                                                       \
        CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); CASE(9); CASE(10);    \
        CASE(11); CASE(12); CASE(13); CASE(14); CASE(15); CASE(16);                                   \
    }

static void screen_node(const CodedCells *coded, int64_t node, const Tile *tile, const int *which, int size,
                        const int32_t *most, unsigned *open) {
#define CASE(fours)                                                                                   \
    case fours:                                                                                       \
        if (size <= 2 || fours > 4) {                                                                 \
            screen(coded, node, tile, which, most, fours, 2, open);                                   \
            if (size > 2) screen(coded, node, tile, which + 2, most, fours, 2, open + 2);             \
        } else                                                                                        \
            screen(coded, node, tile, which, most, fours, TOGETHER, open);                            \
        break
    EACH_FOURS(coded->cells.dims, CASE)
#undef CASE
}

/* Looks into the leaves of a node that the codes do not rule out, for the points of a set of bits. */
static inline void scan_node(const CodedCells *coded, int64_t node, unsigned points, const float *squares_of_nodes,
                             const double *moved, double relative, Tile *tile) {
    int32_t most[CODED_POINTS];
    integer_limits(coded, node, squares_of_nodes, relative, tile, most);
    while (points) {
        unsigned open[TOGETHER];
        int which[TOGETHER], size = 0;
        for (; points && size < TOGETHER; points &= points - 1) which[size++] = __builtin_ctz(points);
        for (int i = size; i < TOGETHER; i++) which[i] = which[0];
        screen_node(coded, node, tile, which, size, most, open);
        for (int i = 0; i < size; i++) {
            int at = which[i];
            for (; open[i]; open[i] &= open[i] - 1)
                scan(&coded->cells, node * LANES + __builtin_ctz(open[i]), tile->padded[at], moved[at], relative,
                     &tile->kept[at]);
            tile->limits[at] = tile->kept[at].most;
        }
    }
}

/* Looks into the most promising leaf of the nearest node, for a first limit. */
static void begin_with_codes(const CodedCells *coded, int at, double moved, double relative, Tile *tile) {
    int64_t leaf = tile->nearest[at] * (int64_t)LANES;
#define CASE(fours) \
    case fours: leaf += first_leaf(coded, tile->nearest[at], tile->codes[at], fours); break
    EACH_FOURS(coded->cells.dims, CASE)
#undef CASE
    Candidates *kept = &tile->kept[at];
    vf distances = squares(coded->cells.places + leaf * LANES * coded->cells.dims, tile->padded[at], coded->cells.dims);
    /* The limit only: the leaf is scanned with the others of its node. */
    lower_limit(kept, kept->wanted == 2 ? second_least(distances, all(INFINITY)) : least(distances), moved, relative);
    tile->limits[at] = kept->most;
}

/* Takes 16 points at a time through all nodes: so the words of a node, 5 KB at 15 dimensions, are read once. */
int64_t NAME(nearest_in_coded_cells)(const CodedCells *coded, const float *points, const double *moved, int64_t count,
                                     int64_t *answers, int32_t *which, int32_t *candidates, int64_t room,
                                     float *bounds, float *squares_of_nodes) {
    int64_t nodes = coded->cells.groups * LANES, dims = coded->cells.dims, pairs = 0;
    double relative = (double)(dims + 8) * 0x1p-23;
    Tile tile;
    memset(tile.padded, 0, sizeof tile.padded);
    for (int64_t first = 0; first < count; first += CODED_POINTS) {
        int size = (int)(count - first < CODED_POINTS ? count - first : CODED_POINTS);
        unsigned all_points = (1u << size) - 1u; /* the lanes beyond repeat a point */
        enter(coded, points + first * dims, size, &tile);
        bound_nodes(coded, &tile, bounds, squares_of_nodes);
        for (int i = 0; i < size; i++) begin_with_codes(coded, i, moved[first + i], relative, &tile);
        for (int64_t node = 0; node < nodes; node++) {
            unsigned near = at_most(load(bounds + node * CODED_POINTS), load(tile.limits)) & all_points;
            if (near) scan_node(coded, node, near, squares_of_nodes, moved + first, relative, &tile);
        }
        for (int i = 0; i < size; i++)
            pairs = write_answer(&tile.kept[i], first + i, answers, which, candidates, room, pairs);
    }
    return pairs;
}
