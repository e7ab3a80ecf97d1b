/* The nearest word in some dimensions: boxes rule out nodes, 8-bit products most leaves of the others.
 *
 * The words of a node are stored once more, as integers times a step, relative to the middle of the node. With
 * p the point and r the word, both less the middle, half of their squared distance is |p|²/2 - p·r + |r|²/2. The
 * product of the integers is exact, and differs from p·r by at most |f|·|r| + (|p| + |f|)·|e|, where f and e are
 * what was rounded off the point and the word. A leaf whose 16 words are all certainly beyond the limit is
 * skipped; the others are scanned as in cells.h. Include after cells.h and codes.h; not for LEVEL 0. */

#define CODED_DIMS 64 /* at most */

/* Writes the codes of a point less the middle of a node, plus 128. Every coordinate is within 127 steps. */
static inline void encode_point(const float *point, const float *middle, float scale, int64_t width, uint8_t *out) {
    for (int64_t axis = 0; axis < width; axis += LANES) {
        vf moved = times(minus(load(point + axis), load(middle + axis)), all(scale));
#if LEVEL == 2
        __m512i codes = _mm512_add_epi32(_mm512_cvtps_epi32(moved), _mm512_set1_epi32(128));
        _mm_storeu_si128((__m128i *)(out + axis), _mm512_cvtusepi32_epi8(codes));
#else
        __m256i low = _mm256_cvtps_epi32(moved.parts[0]), high = _mm256_cvtps_epi32(moved.parts[1]);
        __m256i pairs = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
        pairs = _mm256_add_epi16(pairs, _mm256_set1_epi16(128));
        __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
        _mm_storeu_si128((__m128i *)(out + axis), bytes);
#endif
    }
}

/* Half of the squared distances to 16 words, less half of the square of the point. */
static inline __attribute__((always_inline)) vf leaf_halves(const CodedCells *coded, int64_t first, const int8_t *codes,
                                                            const vi *left, int fours, float unit) {
    vi sum = vi_load(coded->corrections + first);
    for (int four = 0; four < fours; four++) sum = dot(sum, left[four], vi_load(codes + four * 64));
    return fused(vi_float(sum), all(unit), load(coded->halves + first));
}

/* The codes of a point, four axes to an integer. */
static inline __attribute__((always_inline)) void spread(const uint8_t *point, int fours, vi *left) {
    for (int four = 0; four < fours; four++) {
        int32_t bytes;
        memcpy(&bytes, point + 4 * four, 4);
        left[four] = vi_all(bytes);
    }
}

/* One point at a node: its codes, the unit of their products, and the limit of half a squared distance. */
typedef struct {
    uint8_t codes[CODED_DIMS];
    float unit, most;
} Seen;

/* Returns which leaves of a node may have a word within the limit, one bit each. */
static inline __attribute__((always_inline)) unsigned leaves_within(const CodedCells *coded, int64_t node, const vi *left,
                                                                  const Seen *seen, int fours) {
    const int8_t *at = coded->codes + node * 256 * 4 * fours;
    unsigned open = 0;
    for (int leaf = 0; leaf < LANES; leaf++) {
        vf half = leaf_halves(coded, node * 256 + leaf * LANES, at + leaf * fours * 64, left, fours, seen->unit);
        open |= (unsigned)(at_most(half, all(seen->most)) != 0) << leaf;
    }
    return open;
}

/* Screens a node for two points at a time, so that its codes are read once for both. First only whether any word is
 * within the limit: for nine nodes of ten at 15 dimensions none is. */
static inline __attribute__((always_inline)) void screen(const CodedCells *coded, int64_t node, const Seen *seen, int fours,
                                                         unsigned *open) {
    const int8_t *at = coded->codes + node * 256 * 4 * fours;
    vi left[CODED_DIMS / 4], right[CODED_DIMS / 4];
    spread(seen[0].codes, fours, left);
    spread(seen[1].codes, fours, right);
    vf lowest = all(INFINITY), second = lowest, unit = all(seen[0].unit), other = all(seen[1].unit);
    for (int leaf = 0; leaf < LANES; leaf++) {
        int64_t first = node * 256 + leaf * LANES;
        vi sum = vi_load(coded->corrections + first), twin = sum;
        for (int four = 0; four < fours; four++) {
            vi codes = vi_load(at + (leaf * fours + four) * 64);
            sum = dot(sum, left[four], codes);
            twin = dot(twin, right[four], codes);
        }
        vf halves = load(coded->halves + first);
        lowest = smaller(lowest, fused(vi_float(sum), unit, halves));
        second = smaller(second, fused(vi_float(twin), other, halves));
    }
    open[0] = at_most(lowest, all(seen[0].most)) ? leaves_within(coded, node, left, seen, fours) : 0;
    open[1] = at_most(second, all(seen[1].most)) ? leaves_within(coded, node, right, seen + 1, fours) : 0;
}

static void screen_node(const CodedCells *coded, int64_t node, const Seen *seen, unsigned *open) {
    switch ((coded->cells.dims + 3) / 4) {
#define CASE(fours) \
    case fours: screen(coded, node, seen, fours, open); break
        CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8);
        CASE(9); CASE(10); CASE(11); CASE(12); CASE(13); CASE(14); CASE(15);
#undef CASE
        default: screen(coded, node, seen, 16, open);
    }
}

/* What is known of the points of a tile while its nodes are looked at, one lane each. */
typedef struct {
    float points[CODED_DIMS][CODED_POINTS];        /* by axis */
    float padded[CODED_POINTS][CODED_DIMS];        /* by point, with zeros */
    float steps[CODED_POINTS], lost[CODED_POINTS]; /* of their codes; how much of a point rounding can lose */
    float limits[CODED_POINTS];                    /* of squared distances */
    int64_t nearest[CODED_POINTS];                 /* the node whose middle is nearest */
    Candidates kept[CODED_POINTS];
} Tile;

static void enter(const CodedCells *coded, const float *points, int size, Tile *tile) {
    int64_t dims = coded->cells.dims;
    memset(tile->points, 0, sizeof tile->points);
    memset(tile->padded, 0, sizeof tile->padded);
    for (int i = 0; i < CODED_POINTS; i++) {
        const float *point = points + (i < size ? i : 0) * dims;
        float peak = 0.0f;
        for (int64_t axis = 0; axis < dims; axis++) {
            tile->points[axis][i] = tile->padded[i][axis] = point[axis];
            peak = fabsf(point[axis]) > peak ? fabsf(point[axis]) : peak;
        }
        /* No coordinate less that of a middle is above 126 steps; rounding and dividing add less than one. */
        tile->steps[i] = (peak + coded->reach) / 126.0f + 0x1p-60f;
        tile->lost[i] = 0.502f * tile->steps[i] * sqrtf((float)dims);
        tile->nearest[i] = 0;
        clear(&tile->kept[i], coded->cells.wanted);
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
        for (left &= ~mask; mask; mask &= mask - 1) tile->nearest[__builtin_ctz(mask)] = node;
    }
}

/* Looks into the leaves of a node that the codes do not rule out, for the points of a set of bits. */
static inline void scan_node(const CodedCells *coded, int64_t node, unsigned points, const float *squares_of_nodes,
                             const double *moved, double relative, Tile *tile) {
    const float *about = coded->about + node * 3; /* step, largest length and error of its words */
    vf square = load(squares_of_nodes + node * LANES), lost = load(tile->lost);
    vf length = times(root(square), all(1.0f + 0x1p-12f)), sum = plus(length, all(about[1]));
    vf error = fused(lost, all(about[1]), times(plus(length, lost), all(about[2])));
    /* What rounding adds: of the squares, of the product, and of the sums here. */
    error = times(fused(times(sum, sum), all(2.0f * (float)relative), error), all(1.0f + 0x1p-12f));
    vf half = minus(times(load(tile->limits), all(0.5f * (1.0f + 0x1p-12f))), times(square, all(0.5f)));
    float most[CODED_POINTS];
    store(most, plus(half, error));
    while (points) {
        Seen seen[2];
        unsigned open[2];
        int pair[2], size = 0;
        for (; points && size < 2; points &= points - 1) pair[size++] = __builtin_ctz(points);
        if (size == 1) pair[1] = pair[0];
        for (int i = 0; i < 2; i++) {
            int at = pair[i];
            encode_point(tile->padded[at], coded->middles + node * coded->width, 1.0f / tile->steps[at], coded->width,
                         seen[i].codes);
            seen[i].unit = -tile->steps[at] * about[0];
            seen[i].most = most[at];
        }
        screen_node(coded, node, seen, open);
        for (int i = 0; i < size; i++) {
            int at = pair[i];
            for (; open[i]; open[i] &= open[i] - 1)
                scan(&coded->cells, node * LANES + __builtin_ctz(open[i]), tile->padded[at], moved[at], relative,
                     &tile->kept[at]);
            tile->limits[at] = tile->kept[at].most;
        }
    }
}

/* Takes 16 points at a time through all nodes: so the words of a node, 6 KB at 15 dimensions, are read once. */
int64_t NAME(nearest_in_coded_cells)(const CodedCells *coded, const float *points, const double *moved, int64_t count,
                                     int64_t *answers, int32_t *which, int32_t *candidates, int64_t room,
                                     float *bounds, float *squares_of_nodes) {
    int64_t nodes = coded->cells.groups * LANES, dims = coded->cells.dims, pairs = 0;
    double relative = (double)(dims + 8) * 0x1p-23;
    Tile tile;
    for (int64_t first = 0; first < count; first += CODED_POINTS) {
        int size = (int)(count - first < CODED_POINTS ? count - first : CODED_POINTS);
        unsigned all_points = (1u << size) - 1u; /* the lanes beyond repeat a point */
        enter(coded, points + first * dims, size, &tile);
        bound_nodes(coded, &tile, bounds, squares_of_nodes);
        for (int i = 0; i < size; i++) {
            begin_with(&coded->cells, tile.nearest[i], tile.padded[i], moved[first + i], relative, &tile.kept[i]);
            bounds[tile.nearest[i] * CODED_POINTS + i] = INFINITY; /* it has been looked into */
            tile.limits[i] = tile.kept[i].most;
        }
        for (int64_t node = 0; node < nodes; node++) {
            unsigned near = at_most(load(bounds + node * CODED_POINTS), load(tile.limits)) & all_points;
            if (near) scan_node(coded, node, near, squares_of_nodes, moved + first, relative, &tile);
        }
        for (int i = 0; i < size; i++)
            pairs = write_answer(&tile.kept[i], first + i, answers, which, candidates, room, pairs);
    }
    return pairs;
}
