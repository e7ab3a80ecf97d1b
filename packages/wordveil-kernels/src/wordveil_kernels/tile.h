/* The points of a tile: rotated, and rounded to integers times a step. Include after vectors.h. */

#include "kernels.h"

#include <math.h>

#define TILE 48 /* points at a time: three registers of 16 */

/* What is known of the points of a tile, one lane each. */
typedef struct {
    float steps[TILE], lengths[TILE], errors[TILE], extras[TILE], shrinks[TILE];
    float floors[TILE]; /* a score that as many rows as are wanted reach for certain */
    float firsts[TILE]; /* if two are wanted: one that a single row reaches */
} Facts;

/* Rotates up to four points; the rows of `rotated` are as long as the padded dimensions. */
static void rotate(const Codes *codes, const float *points, int count, float *rotated) {
    int64_t dims = codes->dims, width = codes->width;
    const float *rows[4];
    for (int i = 0; i < 4; i++) rows[i] = points + (i < count ? i : 0) * dims;
    for (int64_t axis = 0; axis < width; axis += 2 * LANES) {
        vf sums[4][2];
        for (int i = 0; i < 4; i++) sums[i][0] = sums[i][1] = all(0.0f);
        for (int64_t from = 0; from < dims; from++) {
            vf first = load(codes->rotation + from * width + axis);
            vf second = load(codes->rotation + from * width + axis + LANES);
            for (int i = 0; i < 4; i++) {
                sums[i][0] = fused(all(rows[i][from]), first, sums[i][0]);
                sums[i][1] = fused(all(rows[i][from]), second, sums[i][1]);
            }
        }
        for (int i = 0; i < count; i++) {
            store(rotated + i * width + axis, sums[i][0]);
            store(rotated + i * width + axis + LANES, sums[i][1]);
        }
    }
}

/* Writes the codes of a rotated point, its step and its errors. */
static void encode(const Codes *codes, const float *rotated, float slack, int lane, uint8_t *out, Facts *facts) {
    int64_t dims = codes->dims, width = codes->width;
    float peak = 0.0f;
    for (int64_t axis = 0; axis < dims; axis++) peak = fabsf(rotated[axis]) > peak ? fabsf(rotated[axis]) : peak;
    float step = peak / 127.0f > 0x1p-60f ? peak / 127.0f : 0x1p-60f;
    double squares = 0.0;
    memset(out, 128, (size_t)width);
    for (int64_t axis = 0; axis < dims; axis++) {
        float code = rintf(rotated[axis] / step);
        code = code > 127.0f ? 127.0f : code < -127.0f ? -127.0f : code;
        double lost = (double)rotated[axis] - (double)code * (double)step;
        squares += lost * lost;
        out[axis] = (uint8_t)(int)(code + 128.0f);
    }
    facts->steps[lane] = step;
    facts->errors[lane] = (float)(sqrt(squares) + codes->moved * facts->lengths[lane]) * (1.0f + 0x1p-20f) + 0x1p-100f;
    facts->extras[lane] = slack + 0x1p-19f * (facts->lengths[lane] + facts->shrinks[lane]) + 0x1p-100f;
    facts->floors[lane] = facts->firsts[lane] = -INFINITY;
}
