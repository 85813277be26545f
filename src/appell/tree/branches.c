/* Derivatives of accelerations from those of forces, for trees whose straight-line code would be long.

   M = (1 + L)^T D (1 + L) from the tips: row k of L has entries only at the axes `up` on the way to the base, column k only at
   those `down` the branches behind it; both ascending, of axis k the places begin[k], ..., begin[k + 1] - 1. Of each state tau_q and
   tau_v (n, n) become -M^-1 tau_q and -M^-1 tau_v; inverse = M^-1. Columns are solved for PANEL vectors at a time.
   `room` has n*n + n numbers, -L and -1/D, and n*PANEL vectors, wherever those may begin. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PANEL 4
typedef double Eight __attribute__((vector_size(64)));
typedef struct { const int *begin, *at; } Ways;
#define EACH(i, ways, k) (const int *i = (ways).at + (ways).begin[k]; i < (ways).at + (ways).begin[(k) + 1]; i++)

static void factor(ptrdiff_t n, Ways up, const double *M, double *L, double *minus)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        minus[k] = M[k*n + k];
        for EACH(i, up, k) L[k*n + *i] = M[k*n + *i];
    }
    for (ptrdiff_t k = n; k--;) {
        const int *const first = up.at + up.begin[k];
        double *const row = L + k*n;
        minus[k] = -1/minus[k];
        for (const int *i = up.at + up.begin[k + 1]; i-- > first;) {
            const double share = row[*i]*minus[k];
            for (const int *j = first; j < i; j++) L[*i*n + *j] += share*row[*j];
            minus[*i] += share*row[*i];
            row[*i] = share;
        }
    }
}

static void solve(ptrdiff_t n, Ways up, Ways down, const double *L, const double *minus, Eight (*x)[PANEL])
{
    for (ptrdiff_t k = n; k--;) {
        Eight a = x[k][0], b = x[k][1], c = x[k][2], d = x[k][3];
        for EACH(i, down, k) {
            const double f = L[*i*n + k];
            const Eight *const y = x[*i];
            a += f*y[0], b += f*y[1], c += f*y[2], d += f*y[3];
        }
        x[k][0] = a, x[k][1] = b, x[k][2] = c, x[k][3] = d;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        Eight a = minus[k]*x[k][0], b = minus[k]*x[k][1], c = minus[k]*x[k][2], d = minus[k]*x[k][3];
        for EACH(i, up, k) {
            const double f = L[k*n + *i];
            const Eight *const y = x[*i];
            a += f*y[0], b += f*y[1], c += f*y[2], d += f*y[3];
        }
        x[k][0] = a, x[k][1] = b, x[k][2] = c, x[k][3] = d;
    }
}

static inline void copy(ptrdiff_t n, const double *from, double *to)
{
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8) memcpy(to + j, from + j, sizeof(Eight));
    for (; j < n; j++) to[j] = from[j];
}

/* Columns c, c + 1, ... of the three matrices side by side to x, or `back` from there. */
static void panel(ptrdiff_t n, ptrdiff_t c, double *const *parts, Eight (*x)[PANEL], int back)
{
    for (ptrdiff_t done = 0; done < 8*PANEL && c + done < 3*n;) {
        const ptrdiff_t column = (c + done) % n, left = 8*PANEL - done, width = n - column < left ? n - column : left;
        double *const from = parts[(c + done)/n] + column, *const to = (double *) x + done;
        for (ptrdiff_t k = 0; k < n; k++)
            if (back) copy(width, to + k*8*PANEL, from + k*n);
            else copy(width, from + k*n, to + k*8*PANEL);
        done += width;
    }
}

void appell_branches(ptrdiff_t states, ptrdiff_t n, const int *up_begin, const int *up_at, const int *down_begin, const int *down_at,
                     const double *M, double *tau_q, double *tau_v, double *inverse, double *room)
{
    const Ways up = {up_begin, up_at}, down = {down_begin, down_at};
    double *const minus = room + n*n;
    Eight (*const x)[PANEL] = (Eight (*)[PANEL]) (((uintptr_t) (minus + n) + sizeof(Eight) - 1)/sizeof(Eight)*sizeof(Eight));
    for (ptrdiff_t at = 0; at < states*n*n; at += n*n) {
        double *const parts[] = {tau_q + at, tau_v + at, inverse + at};
        factor(n, up, M + at, room, minus);
        memset(parts[2], 0, n*n*sizeof *M);
        for (ptrdiff_t k = 0; k < n; k++) parts[2][k*n + k] = -1;
        for (ptrdiff_t c = 0; c < 3*n; c += 8*PANEL) {
            panel(n, c, parts, x, 0);
            solve(n, up, down, room, minus, x);
            panel(n, c, parts, x, 1);
        }
        for (ptrdiff_t k = 0; k < n; k++)
            for (ptrdiff_t c = 0; c < k; c++) parts[2][c*n + k] = parts[2][k*n + c];
    }
}
