/* Answers that use the posterior: the likeliest word, or the one with the largest expected cosine.
 *
 * The score of a word is its bias less its distance. The scores of a box are bounded by its largest bias less
 * the distance to the box: in float32 too, since rounding keeps the order of two sums of the same form. So boxes
 * that can't reach the `candidates` best scores are skipped. Include after cells.h, whose boxes are used. */

#define HELD 1024

typedef struct {
    int count, wanted;
    float floor; /* the lowest score that is still wanted */
    float scores[HELD];
    int32_t positions[HELD];
} Best;

/* Returns the `wanted`-th largest of some numbers, which are reordered. */
static float select_largest(float *values, int count, int wanted) {
    int low = 0, high = count - 1, target = wanted - 1;
    while (low < high) {
        float pivot = values[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (values[i] > pivot) i++;
            while (values[j] < pivot) j--;
            if (i <= j) {
                float swapped = values[i];
                values[i++] = values[j];
                values[j--] = swapped;
            }
        }
        if (target <= j)
            high = j;
        else if (target >= i)
            low = i;
        else
            break;
    }
    return values[target];
}

/* Keeps as many scores as are wanted, the best; of equal ones, those of the words with the lowest numbers. The
 * floor becomes the worst of them. A number of a word is exact as a float: there are fewer than 2^24. */
static void settle(const Cells *cells, Best *best) {
    if (best->count <= best->wanted) return;
    float copy[HELD];
    memcpy(copy, best->scores, (size_t)best->count * sizeof(float));
    best->floor = select_largest(copy, best->count, best->wanted);
    int above = 0, equal = 0;
    for (int i = 0; i < best->count; i++) {
        above += best->scores[i] > best->floor;
        if (best->scores[i] == best->floor) copy[equal++] = -(float)cells->words[best->positions[i]];
    }
    float last = select_largest(copy, equal, best->wanted - above);
    int left = 0;
    for (int i = 0; i < best->count; i++)
        if (best->scores[i] > best->floor ||
            (best->scores[i] == best->floor && -(float)cells->words[best->positions[i]] >= last)) {
            best->scores[left] = best->scores[i];
            best->positions[left++] = best->positions[i];
        }
    best->count = left;
}

static void score_node(const Cells *cells, const Biases *biases, int64_t node, const float *point, Best *best) {
    int64_t dims = cells->dims;
    vf reach = minus(load(biases->leaves + node * LANES), root(gaps(cells->leaves + node * 32 * dims, point, dims)));
    unsigned open = at_most(all(best->floor), reach);
    for (; open; open &= open - 1) {
        int64_t leaf = node * LANES + __builtin_ctz(open);
        vf distances = root(squares(cells->places + leaf * LANES * dims, point, dims));
        float scores[LANES];
        vf reached = minus(load(biases->words + leaf * LANES), distances);
        store(scores, reached);
        for (unsigned mask = at_most(all(best->floor), reached); mask; mask &= mask - 1) {
            int lane = __builtin_ctz(mask);
            if (cells->words[leaf * LANES + lane] < 0) continue;
            if (best->count == HELD) settle(cells, best);
            if (scores[lane] < best->floor) continue;
            best->scores[best->count] = scores[lane];
            best->positions[best->count++] = (int32_t)(leaf * LANES + lane);
        }
        if (best->wanted == 1 || best->count >= HELD / 2) settle(cells, best);
    }
}

/* Finds the best scores of a point, nodes with the highest bounds first. `reach` holds the bounds, negated. */
static void find_best(const Cells *cells, const Biases *biases, const float *point, float *reach, Best *best) {
    int64_t dims = cells->dims;
    for (int64_t group = 0; group < cells->groups; group++) {
        vf distance = root(gaps(cells->nodes + group * 32 * dims, point, dims));
        store(reach + group * LANES, minus(distance, load(biases->nodes + group * LANES)));
    }
    best->count = 0;
    best->floor = -INFINITY;
    for (;;) {
        vf lowest = load(reach);
        for (int64_t group = 1; group < cells->groups; group++) lowest = smaller(lowest, load(reach + group * LANES));
        float bound = least(lowest);
        if (bound == INFINITY || -bound < best->floor) break;
        int64_t node = 0, last = (cells->groups - 1) * LANES;
        unsigned mask = at_most(load(reach), all(bound));
        while (!mask && node < last) mask = at_most(load(reach + (node += LANES)), all(bound));
        if (!mask) break; /* all of them are NaN */
        node += __builtin_ctz(mask);
        reach[node] = INFINITY;
        score_node(cells, biases, node, point, best);
        if (best->count > 2 * best->wanted) settle(cells, best);
    }
    settle(cells, best);
}

/* Returns the position with the largest product with the mean of all, weighted by the posterior. */
static int32_t closest_of(const Cells *cells, const Best *best, const float *units, int64_t width, float *mean) {
    float top = -INFINITY, highest = -INFINITY, likeliest = -INFINITY;
    int32_t answer = best->positions[0];
    for (int i = 0; i < best->count; i++) top = best->scores[i] > top ? best->scores[i] : top;
    memset(mean, 0, (size_t)width * sizeof(float));
    for (int i = 0; i < best->count; i++) {
        const float *unit = units + cells->words[best->positions[i]] * width;
        vf weight = all(expf(best->scores[i] - top));
        for (int64_t axis = 0; axis < width; axis += LANES)
            store(mean + axis, fused(weight, load(unit + axis), load(mean + axis)));
    }
    for (int i = 0; i < best->count; i++) {
        const float *unit = units + cells->words[best->positions[i]] * width;
        vf sum = all(0.0f);
        for (int64_t axis = 0; axis < width; axis += LANES) sum = fused(load(mean + axis), load(unit + axis), sum);
        float parts[LANES], product = 0.0f;
        store(parts, sum);
        for (int lane = 0; lane < LANES; lane++) product += parts[lane];
        int is_same = product == highest && best->scores[i] == likeliest;
        if (product > highest || (product == highest && best->scores[i] > likeliest) ||
            (is_same && cells->words[best->positions[i]] < cells->words[answer])) {
            highest = product;
            likeliest = best->scores[i];
            answer = best->positions[i];
        }
    }
    return answer;
}

void NAME(answer_in_cells)(const Cells *cells, const Biases *biases, const float *units, int64_t width,
                           int candidates, const float *points, int64_t count, int64_t *answers, float *reach,
                           float *mean) {
    Best best;
    best.wanted = candidates;
    for (int64_t row = 0; row < count; row++) {
        find_best(cells, biases, points + row * cells->dims, reach, &best);
        if (best.count == 0) /* all distances are infinite */
            answers[row] = 0;
        else
            answers[row] = cells->words[width > 0 ? closest_of(cells, &best, units, width, mean) : best.positions[0]];
    }
}
