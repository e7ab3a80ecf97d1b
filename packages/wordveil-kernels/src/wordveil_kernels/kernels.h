/* What the loops share: their tables, and their names at each level of instructions. */

#ifndef WORDVEIL_KERNELS_H
#define WORDVEIL_KERNELS_H

#include <stdint.h>

/* Words in boxes. All floats are stored in groups of 16: nodes and leaves by axis as 16 lower and 16 upper
 * ends, places by axis as 16 coordinates. A word of -1 is padding. */
typedef struct {
    int64_t dims, groups; /* groups of 16 nodes */
    const float *nodes, *leaves, *places;
    const int32_t *words;
    int wanted; /* nearest words: 1 or 2 */
} Cells;

#define CODED_POINTS 16 /* points that are searched for at a time in coded cells */

/* The same words as integers times a step for each node of 256, relative to its middle, with the sign turned round; by
 * leaf, four axes, and word. */
typedef struct {
    Cells cells;
    const int8_t *codes;
    const int32_t *corrections; /* what to add to a product: see coded_cells.h */
    const float *centres;       /* the middles by axis, as the places */
    const float *about;         /* of each node: units to a 1, largest length, largest error */
    float step;                 /* of points */
} CodedCells;

/* The logarithm of each word's share, in the order of the places, and the largest of each leaf and node. */
typedef struct {
    const float *nodes, *leaves, *words;
} Biases;

/* Rows as integers times a step, in strips that share the step; a row of -1 is padding. */
#define CODES_STRIP 32

typedef struct {
    int64_t dims, width, fours, strips; /* width: dims, padded to 64; fours: dims / 4, rounded up */
    const int8_t *codes;                /* by row, width apart */
    const int32_t *corrections;         /* -128 times the sum of a row's codes */
    const float *about;                 /* of each strip: step, largest error, size, least and largest half */
    const float *errors, *sizes, *halves;
    const int32_t *order;
    const float *rotation; /* dims by width */
    const double *rows;
    double moved, tolerance; /* error of rotating a point, relative; below which distances are too close */
    int wanted;              /* nearest rows: 1 or 2 */
} Codes;

typedef struct {
    const double *points, *norms, *factors;
    const float *scaled, *lengths, *shrinks, *slacks;
} Points;

#define DECLARE(suffix)                                                                                     \
    int64_t nearest_in_cells_##suffix(const Cells *, const float *, const double *, int64_t, int64_t *,     \
                                      int32_t *, int32_t *, int64_t, float *, int32_t *, float *);             \
    void answer_in_cells_##suffix(const Cells *, const Biases *, const float *, int64_t, int, const float *, \
                                  int64_t, int64_t *, float *, float *);

DECLARE(portable)
DECLARE(avx2)
DECLARE(avx512)

int64_t nearest_in_coded_cells_avx2(const CodedCells *, const float *, const double *, int64_t, int64_t *, int32_t *,
                                    int32_t *, int64_t, float *, float *);
int64_t nearest_in_coded_cells_avx512(const CodedCells *, const float *, const double *, int64_t, int64_t *, int32_t *,
                                      int32_t *, int64_t, float *, float *);

/* There is no portable one: products of floats are faster there. It returns -1 if memory is short. */
int64_t nearest_by_codes_avx2(const Codes *, const Points *, int64_t, int64_t *, int32_t *, int32_t *, int64_t);
int64_t nearest_by_codes_avx512(const Codes *, const Points *, int64_t, int64_t *, int32_t *, int32_t *, int64_t);

#endif
