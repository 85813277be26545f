/* M x = r + W lam, A x = s: see normal_form/saddle.py for the derivation. Row-major arrays; kind 0: independent rows,
   1: `rank` of the m rows are independent, 2: W is not A^T, 3: as 1, for masses of any sizes. Returns 0, or 2 (singular), 3 (not finite). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double saddle_dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* y <- L^-1 y and y <- L^-T y for lower triangular L with row length `stride` */
static void saddle_forward(int n, int stride, const double *L, double *y)
{
    for (int i = 0; i < n; i++) y[i] = (y[i] - saddle_dot(i, L + i * stride, y)) / L[i * stride + i];
}

static void saddle_backward(int n, int stride, const double *L, double *y)
{
    for (int i = n - 1; i >= 0; i--) {
        y[i] /= L[i * stride + i];
        for (int j = 0; j < i; j++) y[j] -= L[i * stride + j] * y[i];
    }
}

/* M = L L^T by columns: the updates of one column do not wait for each other. Reads and writes the lower triangle. */
static int saddle_cholesky(int n, double *M)
{
    double size[n + 1], l[n + 1];
    for (int k = 0; k < n; k++) size[k] = M[k * n + k];
    for (int k = 0; k < n; k++) {
        const double d = M[k * n + k];
        if (!(d > SADDLE_PIVOT * size[k])) return isfinite(d) ? 2 : 3;
        const double root = sqrt(d), inverse = 1 / root;
        M[k * n + k] = root;
        for (int i = k + 1; i < n; i++) l[i] = M[i * n + k] *= inverse;
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j <= i; j++) M[i * n + j] -= l[i] * l[j];
    }
    return 0;
}

/* Of all lam with the same A^T lam as y on the rows order[0 .. rank-1] the one of least norm: lam = B (B^T B)^-1 y, B = [1; K],
   where the other rows are A_J = K A_I, K in the lower part of L. Destroys y. */
static int saddle_least(int m, int rank, const double *L, double *y, double *lam, double *B, const int *order)
{
    if (rank < m) {
        for (int i = 0; i < rank; i++)
            for (int j = 0; j < rank; j++) {
                double sum = i == j;
                for (int k = rank; k < m; k++) sum += L[k * rank + i] * L[k * rank + j];
                B[i * rank + j] = sum;
            }
        if (saddle_cholesky(rank, B)) return 2;
        saddle_forward(rank, rank, B, y);
        saddle_backward(rank, rank, B, y);
        for (int i = rank; i < m; i++) lam[order[i]] = saddle_dot(rank, L + i * rank, y);
    }
    for (int k = 0; k < rank; k++) lam[order[k]] = y[k];
    return 0;
}

/* G lam = b on `rank` rows chosen by pivoting; of all lam with the same A^T lam the one of least norm. Destroys G, b. */
static int saddle_multipliers(int m, int rank, double *G, double *b, double *lam, double *work, int *order)
{
    double *size = work, *left = work + m, *L = work + 2 * m, *B = L + m * rank;
    double large = 0;
    for (int i = 0; i < m; i++) order[i] = i, size[i] = left[i] = G[i * m + i], large = fmax(large, size[i]);
    for (int k = 0; k < rank; k++) {
        int best = k;
        double share = 0;
        for (int i = k; i < m; i++) {
            const int o = order[i];
            const double s = left[o] > SADDLE_PIVOT * size[o] ? left[o] / (size[o] + SADDLE_SHORT * large) : 0;
            if (s > share) share = s, best = i;
        }
        if (!(share > 0)) return 2;
        const int o = order[k];
        order[k] = order[best], order[best] = o;
        for (int j = 0; j < k; j++) {
            const double l = L[k * rank + j];
            L[k * rank + j] = L[best * rank + j], L[best * rank + j] = l;
        }
        const double d = L[k * rank + k] = sqrt(left[order[k]]);
        for (int i = k + 1; i < m; i++) {
            const double l = (G[order[i] * m + order[k]] - saddle_dot(k, L + i * rank, L + k * rank)) / d;
            L[i * rank + k] = l;
            left[order[i]] -= l * l;
        }
    }
    double *y = size;                                       /* G_II y = b_I */
    for (int k = 0; k < rank; k++) y[k] = b[order[k]];
    saddle_forward(rank, rank, L, y);
    saddle_backward(rank, rank, L, y);
    for (int i = rank; i < m; i++) saddle_backward(rank, rank, L, L + i * rank);
    return saddle_least(m, rank, L, y, lam, B, order);
}

/* K = L U in place, its rows exchanged: order[k] is the one that came to place k. Every pivot is larger than `least`, else 2 or 3. */
static int saddle_lu(int n, double *K, int *order, double least)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) if (fabs(K[i * n + k]) > fabs(K[best * n + k])) best = i;
        const double d = K[best * n + k];
        if (!(fabs(d) > least)) return isfinite(d) ? 2 : 3;
        order[k] = best;
        if (best != k) for (int j = 0; j < n; j++) {
            const double swap = K[k * n + j];
            K[k * n + j] = K[best * n + j], K[best * n + j] = swap;
        }
        for (int i = k + 1; i < n; i++) {
            const double l = K[i * n + k] /= d;
            if (l != 0) for (int j = k + 1; j < n; j++) K[i * n + j] -= l * K[k * n + j];
        }
    }
    return 0;
}

/* x <- K^-1 x after saddle_lu. */
static void saddle_lu_solve(int n, const double *K, const int *order, double *x)
{
    for (int k = 0; k < n; k++) {
        const double swap = x[k];
        x[k] = x[order[k]], x[order[k]] = swap;
    }
    for (int i = 1; i < n; i++) for (int j = 0; j < i; j++) x[i] -= K[i * n + j] * x[j];
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) x[i] -= K[i * n + j] * x[j];
        x[i] /= K[i * n + i];
    }
}

/* Rows of K y = b with one entry, such as those of dummies, give their unknowns at once; what is left of K (N, N) and b closes up: `rows` and
   `columns` list it. Returns how many are left, or -1 where an unknown is not finite. */
static int saddle_singles(int N, double *K, double *b, double *y, int *rows, int *columns)
{
    int entries[N + 1], found = 1, left = 0;
    for (int i = 0; i < N; i++) {
        entries[i] = 0, rows[i] = columns[i] = 1;
        for (int j = 0; j < N; j++) entries[i] += K[i * N + j] != 0;
    }
    while (found) {
        found = 0;
        for (int i = 0; i < N; i++) {
            if (!rows[i] || entries[i] != 1) continue;
            int j = 0;
            while (!(columns[j] && K[i * N + j] != 0)) j++;
            y[j] = b[i] / K[i * N + j];
            if (!isfinite(y[j])) return -1;
            rows[i] = columns[j] = 0, found = 1;
            for (int k = 0; k < N; k++) if (rows[k] && K[k * N + j] != 0) b[k] -= K[k * N + j] * y[j], entries[k]--;
        }
    }
    for (int i = 0, j = 0; i < N; i++) {
        if (columns[i]) columns[j++] = i;
        if (rows[i]) rows[left++] = i;
    }
    for (int i = 0; i < left && left < N; i++) {
        b[i] = b[rows[i]];
        for (int j = 0; j < left; j++) K[i * left + j] = K[rows[i] * N + columns[j]];
    }
    return left;
}

/* Elimination with row exchanges. `unit` measures velocities by their inertia and rows by the longest of their terms, so that the
   pivots do not know the units of mass, length and time; see `units` in rows/saddle_points.py. */
static int saddle_general(int n, int m, const double *M, const double *A, const double *W, const double *r,
                          const double *s, double *x, double *lam, double *K, int *order)
{
    const int all = n + m;
    double *b = K + all * all, *unit = b + all, y[all + 1], mean = 0;
    int rows[all + 1], columns[all + 1], massive = 0;
    for (int i = 0; i < all; i++) {
        for (int j = 0; j < n; j++) K[i * all + j] = i < n ? M[i * n + j] : A[(i - n) * n + j];
        for (int j = 0; j < m; j++) K[i * all + n + j] = i < n ? -W[i * m + j] : 0;
        b[i] = i < n ? r[i] : s[i - n];
    }
    const int N = saddle_singles(all, K, b, y, rows, columns);
    if (N < 0) return 3;
    for (int i = 0; i < n; i++) if (M[i * n + i] > 0) mean += M[i * n + i], massive++;
    mean = massive ? mean / massive : 1;
    for (int i = 0; i < n; i++) unit[i] = 1 / sqrt(M[i * n + i] > 0 ? M[i * n + i] : mean);
    memset(unit + n, 0, sizeof(double) * m);
    for (int i = 0; i < 2 * N; i++) {
        const int k = (i < N ? rows[i] : columns[i - N]) - n;
        double size = 0;
        if (k < 0 || unit[n + k] > 0) continue;
        for (int j = 0; j < n; j++) size = fmax(size, fabs(A[k * n + j]) * unit[j]);
        unit[n + k] = size > 0 ? 1 / size : 1;
    }
    for (int i = 0; i < N; i++) {
        double *row = K + i * N, size = 0;
        for (int j = 0; j < N; j++) {
            row[j] *= unit[rows[i]] * unit[columns[j]];
            if (fabs(row[j]) > size) size = fabs(row[j]);
        }
        b[i] *= unit[rows[i]];
        for (int j = 0; j < N && size > 0; j++) row[j] /= size;
        if (size > 0) b[i] /= size;
    }
    for (int j = 0; j < N; j++) {
        double size = 0;
        for (int i = 0; i < N; i++) size = fmax(size, fabs(K[i * N + j]));
        if (!(size > 0)) continue;
        unit[columns[j]] /= size;
        for (int i = 0; i < N; i++) K[i * N + j] /= size;
    }
    const int status = saddle_lu(N, K, order, SADDLE_PIVOT);
    if (status) return status;
    saddle_lu_solve(N, K, order, b);
    for (int i = 0; i < N; i++) y[columns[i]] = b[i] * unit[columns[i]];
    memcpy(x, y, sizeof(double) * n);
    memcpy(lam, y + n, sizeof(double) * m);
    return 0;
}

static int saddle_symmetric(int n, int m, int rank, double gamma, const double *M, const double *A, const double *r,
                            const double *s, double *x, double *lam, double *work, int *order)
{
    double *L = work, *Y = L + n * n, *G = Y + m * n, *b = G + m * m, *rest = b + m;
    memcpy(L, M, sizeof(double) * n * n);
    memcpy(x, r, sizeof(double) * n);
    for (int k = 0; k < m && gamma > 0; k++)
        for (int i = 0; i < n; i++) {
            const double g = gamma * A[k * n + i];
            x[i] += g * s[k];
            for (int j = 0; j < n; j++) L[i * n + j] += g * A[k * n + j];
        }
    int status = saddle_cholesky(n, L);
    if (status) return status;
    saddle_forward(n, n, L, x);
    memcpy(Y, A, sizeof(double) * m * n);
    for (int k = 0; k < m; k++) {
        saddle_forward(n, n, L, Y + k * n);
        b[k] = s[k] - saddle_dot(n, Y + k * n, x);
        for (int j = 0; j <= k; j++) G[k * m + j] = G[j * m + k] = saddle_dot(n, Y + k * n, Y + j * n);
    }
    status = saddle_multipliers(m, rank, G, b, lam, rest, order);
    if (status) return status;
    for (int k = 0; k < m; k++)
        for (int i = 0; i < n; i++) x[i] += lam[k] * Y[k * n + i];
    saddle_backward(n, n, L, x);
    return 0;
}

static void saddle_swap(double *a, double *b)
{
    const double x = *a;
    *a = *b, *b = x;
}

/* Elimination of `rank` accelerations by the rows, the lightest first, and Cholesky for the motion that is left: for masses that
   differ so much that A M^-1 A^T has no digits. See saddle.py. */
static int saddle_eliminate(int n, int m, int rank, const double *M, const double *A, const double *r, const double *s,
                            double *x, double *lam, double *work, int *rows)
{
    const int e = n - rank;
    int *cols = rows + m;
    double *c = work, *w = c + n, *T = w + m, *E = T + m * n, *L = E + m * n, *X = L + m * rank, *H = X + n * n, *g = H + n * n;
    double least = INFINITY;
    for (int j = 0; j < n; j++) if (M[j * n + j] > 0) least = fmin(least, M[j * n + j]);
    for (int j = 0; j < n; j++) c[j] = 1 / sqrt(M[j * n + j] > 0 ? M[j * n + j] : least * 0x1p-100), cols[j] = j;
    for (int i = 0; i < m; i++) {
        rows[i] = i, w[i] = 0;
        for (int j = 0; j < n; j++) w[i] = fmax(w[i], fabs(A[i * n + j] * c[j]));
        if (!(w[i] > 0)) w[i] = 1;
        for (int j = 0; j < n; j++) T[i * n + j] = A[i * n + j] * c[j] / w[i], E[i * n + j] = fabs(T[i * n + j]);
    }
    for (int k = 0; k < rank; k++) {
        double largest = 0;
        int bi = k, bj = k;
        for (int i = k; i < m; i++)
            for (int j = k; j < n; j++) {
                const double t = fabs(T[i * n + j]);
                if (t > largest && t > SADDLE_VANISHED * E[i * n + j]) largest = t, bi = i, bj = j;
            }
        if (!(largest > 0)) return 2;
        if (!isfinite(largest)) return 3;
        for (int j = 0; j < n; j++) saddle_swap(T + k * n + j, T + bi * n + j), saddle_swap(E + k * n + j, E + bi * n + j);
        for (int j = 0; j < k; j++) saddle_swap(L + k * rank + j, L + bi * rank + j);
        for (int i = 0; i < m; i++) saddle_swap(T + i * n + k, T + i * n + bj), saddle_swap(E + i * n + k, E + i * n + bj);
        const int row = rows[k], col = cols[k];
        rows[k] = rows[bi], rows[bi] = row, cols[k] = cols[bj], cols[bj] = col;
        L[k * rank + k] = 1;
        for (int i = k + 1; i < m; i++) {
            const double l = L[i * rank + k] = T[i * n + k] / T[k * n + k];
            T[i * n + k] = 0;
            for (int j = k + 1; j < n; j++) {
                const double t = l * T[k * n + j];
                T[i * n + j] -= t, E[i * n + j] = fmax(E[i * n + j], fabs(t));
            }
        }
    }
    for (int k = 0; k < rank; k++) g[k] = s[rows[k]] / w[rows[k]];      /* x_d = p - B x_e, B in the place of T's right part */
    saddle_forward(rank, rank, L, g);
    for (int k = rank - 1; k >= 0; k--) {
        for (int i = k + 1; i < rank; i++) {
            g[k] -= T[k * n + i] * g[i];
            for (int j = rank; j < n; j++) T[k * n + j] -= T[k * n + i] * T[i * n + j];
        }
        g[k] /= T[k * n + k];
        for (int j = rank; j < n; j++) T[k * n + j] /= T[k * n + k];
    }
    double *b = g + n;                                                   /* r - M x_p, then what is left to the reactions */
    for (int i = 0; i < n; i++) {
        const double *Mi = M + cols[i] * n, ci = c[cols[i]];
        b[i] = r[cols[i]] * ci;
        for (int k = 0; k < rank; k++) b[i] -= ci * Mi[cols[k]] * c[cols[k]] * g[k];
        for (int j = 0; j < e; j++) {                                    /* X = M Z, Z = [-B; 1] */
            double sum = ci * Mi[cols[rank + j]] * c[cols[rank + j]];
            for (int k = 0; k < rank; k++) sum -= ci * Mi[cols[k]] * c[cols[k]] * T[k * n + rank + j];
            X[i * n + j] = sum;
        }
    }
    double *y = b + n;
    for (int i = 0; i < e; i++) {
        y[i] = b[rank + i];
        for (int k = 0; k < rank; k++) y[i] -= T[k * n + rank + i] * b[k];
        for (int j = 0; j < e; j++) {
            double sum = X[(rank + i) * n + j];
            for (int k = 0; k < rank; k++) sum -= T[k * n + rank + i] * X[k * n + j];
            H[i * e + j] = sum;
        }
    }
    const int status = saddle_cholesky(e, H);
    if (status) return status;
    saddle_forward(e, e, H, y);
    saddle_backward(e, e, H, y);
    for (int k = 0; k < rank; k++) {
        b[k] = -b[k];
        for (int j = 0; j < e; j++) g[k] -= T[k * n + rank + j] * y[j], b[k] += X[k * n + j] * y[j];
    }
    for (int k = 0; k < rank; k++) x[cols[k]] = g[k] * c[cols[k]];
    for (int j = 0; j < e; j++) x[cols[rank + j]] = y[j] * c[cols[rank + j]];
    for (int k = 0; k < rank; k++) {                                     /* A_d^T lam = (M x - r)_d */
        for (int i = 0; i < k; i++) b[k] -= T[i * n + k] * b[i];
        b[k] /= T[k * n + k];
    }
    saddle_backward(rank, rank, L, b);
    for (int k = 0; k < rank; k++) b[k] /= w[rows[k]];
    for (int i = rank; i < m; i++) {                                     /* K of A_J = K A_I in the place of L's lower part */
        saddle_backward(rank, rank, L, L + i * rank);
        for (int k = 0; k < rank; k++) L[i * rank + k] *= w[rows[i]] / w[rows[k]];
    }
    return saddle_least(m, rank, L, b, lam, H, rows);
}

static int saddle(int kind, int n, int m, int rank, double gamma, const double *M, const double *A, const double *W,
                  const double *r, const double *s, double *x, double *lam)
{
    const size_t N = n + m;
    double *work = malloc(sizeof(double) * (2 * (N + 2) * (N + 2) + (size_t)m * (rank + 4) + rank * (size_t)rank + 8));
    int *order = malloc(sizeof(int) * (N + 1));
    int status = 3;
    if (work && order)
        status = kind == 2 ? saddle_general(n, m, M, A, W, r, s, x, lam, work, order)
               : kind == 3 ? saddle_eliminate(n, m, rank, M, A, r, s, x, lam, work, order)
                           : saddle_symmetric(n, m, kind ? rank : m, gamma, M, A, r, s, x, lam, work, order);
    free(work);
    free(order);
    for (int i = 0; i < n && !status; i++) status = isfinite(x[i]) ? 0 : 3;
    for (int k = 0; k < m && !status; k++) status = isfinite(lam[k]) ? 0 : 3;
    return status;
}
