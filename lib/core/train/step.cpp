// One training step of many small transformers on a CPU with AVX-512: forward, backward, clip, AdamW.
//
// The model is that of lib/core/model/transformer.py with ReLU or GELU; its every other choice is kept. It answers at the last
// position or, as a language model, at every one. A run is the work of one thread from its first token to its last weight, so its
// result depends on nothing that is trained beside it, bit for bit. Sequences are taken in chunks, so that activations stay in the
// core's caches and weights are read few times. Products take bfloat16, or with SINGLE defined single precision, and add in single
// precision; all else is single precision. Widths are padded with zeros to multiples of 16, which is exact.
// Compiled by lib/core/train/native.py, which documents the call.
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

using u32 = uint32_t;
// What a product takes: numbers, `together` of them a unit, which one instruction multiplies and adds.
#ifdef SINGLE
using number = float;
using unit = float;
using kept = unit;
constexpr int64_t together = 1;
#else
using number = uint16_t;                      // bfloat16
typedef u32 unit __attribute__((may_alias));  // two that were written one by one
using kept = u32;
constexpr int64_t together = 2;
#endif

namespace {

enum Norm { NONE, POST, PRE };
enum Activation { RELU, GELU };
enum Head { BARE, OWN, TIED };  // the last vectors are the logits; a matrix of its own; the token embedding

struct Shape {
    int64_t vocab, positions, depth, d, f, k, v, heads, batch, length, head_bias, chunk, norm, head, activation, bias, every;
};

inline int64_t whole(int64_t n) { return (n + 15) / 16 * 16; }  // as many as whole vectors hold

// Large arrays lie in large pages: a product reads them in strides that small pages are too many for.
template <class T>
struct LargePages {
    using value_type = T;
    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}
    T* allocate(size_t n) {
        size_t large = size_t(1) << 21, unit = n * sizeof(T) >= large ? large : 64;
        void* at = std::aligned_alloc(unit, (n * sizeof(T) + unit - 1) / unit * unit);
        if (!at) throw std::bad_alloc();
        if (unit == large) madvise(at, n * sizeof(T), MADV_HUGEPAGE);
        return (T*)at;
    }
    void deallocate(T* at, size_t) { std::free(at); }
    bool operator==(const LargePages&) const { return true; }
    bool operator!=(const LargePages&) const { return false; }
};

template <class T>
using Array = std::vector<T, LargePages<T>>;

#ifdef SINGLE
inline number rounded(float x) { return x; }
inline void store(number* y, __m512 x) { _mm512_storeu_ps(y, x); }
inline __m512 load(const number* x) { return _mm512_loadu_ps(x); }
inline __m512 multiply_add(__m512 sum, unit x, const unit* y) { return _mm512_fmadd_ps(_mm512_set1_ps(x), _mm512_loadu_ps(y), sum); }
#else
inline number rounded(float x) {  // to nearest, ties to even; NaN stays NaN
    u32 u;
    std::memcpy(&u, &x, 4);
    if ((u & 0x7fffffff) > 0x7f800000) return (u >> 16) | 0x40;
    return (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}
inline void store(number* y, __m512 x) { _mm256_storeu_si256((__m256i*)y, (__m256i)_mm512_cvtneps_pbh(x)); }
inline __m512 load(const number* x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)x)), 16));
}
inline __m512 multiply_add(__m512 sum, unit x, const unit* y) {
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32((int)x), (__m512bh)_mm512_loadu_si512(y));
}
#endif

void to_numbers(const float* x, number* y, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(y + i, _mm512_loadu_ps(x + i));
    for (; i < n; i++) y[i] = rounded(x[i]);
}

// Where column n of a matrix of units is that has N columns and K2 rows: it lies in panels of 64 columns, the last one narrower,
// each row after row, so that a product reads it from end to end.
struct Place {
    int64_t first, step;  // of row 0; from row to row
};
inline Place place(int64_t n, int64_t N, int64_t K2) { return {n / 64 * 64 * K2 + n % 64, std::min<int64_t>(64, N - n / 64 * 64)}; }

// Rows (of n columns, ld apart) as rows of units, `together` in one: what a product needs whose sum runs over rows. An odd last
// row is paired with zeros. Row after row, `to` apart; or, if `to` is 0, in panels.
void interleave(const number* x, int64_t ld, int64_t rows, int64_t n, unit* out, int64_t to) {
    int64_t K2 = (rows + together - 1) / together, width = to ? n : 64;
    for (int64_t t = 0; t < K2; t++) {
        const number *a = x + together * t * ld, *b = a + ld;
        for (int64_t c = 0; c < n; c += width) {
            int64_t w = std::min(width, n - c);
            unit* o = to ? out + t * to : out + c * K2 + t * w;
            if (together == 2 && 2 * t + 1 < rows)
                for (int64_t i = 0; i < w; i++) o[i] = (u32)a[c + i] | (u32)b[c + i] << 16;
            else
                for (int64_t i = 0; i < w; i++) o[i] = a[c + i];
        }
    }
}

// The distance of rows that are read in columns: an odd number of cache lines, so that they do not fall on one another.
inline int64_t apart(int64_t n) { return whole(n) + (whole(n) / 16 % 2 ? 0 : 16); }

// c[m][16 NV] (+)= sum over K2 units of a[m * row + p * step] times b[p][16 NV]; MR rows and NV vectors live in registers.
template <int MR, int NV>
void micro(const unit* a, int64_t row, int64_t step, const unit* b, int64_t ldb, int64_t K2, float* c, int64_t ldc, bool add) {
    __m512 s[MR][NV];
#pragma GCC unroll 8
    for (int m = 0; m < MR; m++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) s[m][j] = add ? _mm512_loadu_ps(c + m * ldc + 16 * j) : _mm512_setzero_ps();
    for (int64_t p = 0; p < K2; p++) {
#pragma GCC unroll 8
        for (int m = 0; m < MR; m++) {
            unit x = a[m * row + p * step];
#pragma GCC unroll 4
            for (int j = 0; j < NV; j++) s[m][j] = multiply_add(s[m][j], x, b + p * ldb + 16 * j);
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < MR; m++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) _mm512_storeu_ps(c + m * ldc + 16 * j, s[m][j]);
}

template <int NV>
void panel(int64_t M, const unit* a, int64_t row, int64_t step, const unit* b, int64_t ldb, int64_t K2, float* c, int64_t ldc, bool add) {
    int64_t m = 0;
    for (; m + 6 <= M; m += 6) {
        if (add)  // what the next rows will be added to is far away, and there is time to fetch it
            for (int64_t next = m + 6; next < std::min(m + 12, M); next++)
                for (int j = 0; j < NV; j++) _mm_prefetch((const char*)(c + next * ldc + 16 * j), _MM_HINT_T0);
        micro<6, NV>(a + m * row, row, step, b, ldb, K2, c + m * ldc, ldc, add);
    }
    const unit* r = a + m * row;
    float* o = c + m * ldc;
    switch (M - m) {
        case 5: micro<5, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 4: micro<4, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 3: micro<3, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 2: micro<2, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 1: micro<1, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
    }
}

// c (M, N) = or += a b. a[m][p] is the unit at a[m * row + p * step]; b is (K2, N) units in panels. N is a multiple of 16.
void product(int64_t M, int64_t N, int64_t K2, const unit* a, int64_t row, int64_t step, const unit* b, float* c, int64_t ldc, bool add) {
    for (int64_t n = 0; n < N; n += 64) {
        const unit* p = b + n * K2;
        switch (std::min<int64_t>(4, (N - n) / 16)) {
            case 4: panel<4>(M, a, row, step, p, 64, K2, c + n, ldc, add); break;
            case 3: panel<3>(M, a, row, step, p, 48, K2, c + n, ldc, add); break;
            case 2: panel<2>(M, a, row, step, p, 32, K2, c + n, ldc, add); break;
            case 1: panel<1>(M, a, row, step, p, 16, K2, c + n, ldc, add); break;
        }
    }
}

// y (T, N) = or += x (T, K) w, with w packed in units of its rows.
void times(int64_t T, int64_t N, int64_t K, const number* x, int64_t ldx, const unit* w, float* y, int64_t ldy, bool add = false) {
    product(T, N, K / together, (const unit*)x, ldx / together, 1, w, y, ldy, add);
}

// dw (K, N) += x^T dy over T rows, both interleaved: x row after row, dy in panels.
void outer(int64_t T, int64_t K, int64_t N, const unit* x, int64_t ldx, const unit* dy, float* dw, int64_t ldw) {
    product(K, N, (T + together - 1) / together, x, 1, ldx, dy, dw, ldw, true);
}

inline float sum(__m512 x) { return _mm512_reduce_add_ps(x); }

inline __m512 exp16(__m512 x) {  // relative error about 1e-7 for x in [-87, 0]; below that, zero
    __mmask16 tiny = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.f), _CMP_LT_OQ);
    __m512 t = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f));
    __m512 n = _mm512_roundscale_ps(t, 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    for (float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
    p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.f));
    return _mm512_mask_mov_ps(_mm512_scalef_ps(p, n), tiny, _mm512_setzero_ps());
}

// In place: row (n) to softmax(scale * row); columns n and beyond of the padded row become zero. Returns log of the sum of
// exponentials of the scaled row.
float softmax(float* row, int64_t n, int64_t padded, float scale) {
    auto inside = [n](int64_t j) -> __mmask16 { return n - j >= 16 ? 0xffff : (1u << std::max<int64_t>(n - j, 0)) - 1; };
    __m512 by = _mm512_set1_ps(scale), high = _mm512_set1_ps(-INFINITY), total = _mm512_setzero_ps();
    for (int64_t j = 0; j < n; j += 16) {
        __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(inside(j), row + j), by);
        _mm512_storeu_ps(row + j, x);
        high = _mm512_mask_max_ps(high, inside(j), high, x);
    }
    float top = _mm512_reduce_max_ps(high);
    high = _mm512_set1_ps(top);
    for (int64_t j = 0; j < padded; j += 16) {  // a NaN makes the sum, and with it the whole row, NaN
        __m512 e = _mm512_maskz_mov_ps(inside(j), exp16(_mm512_sub_ps(_mm512_maskz_loadu_ps(inside(j), row + j), high)));
        total = _mm512_add_ps(total, e);
        _mm512_storeu_ps(row + j, e);
    }
    float s = sum(total);
    __m512 inverse = _mm512_set1_ps(1 / s);
    for (int64_t j = 0; j < n; j += 16) _mm512_storeu_ps(row + j, _mm512_mul_ps(_mm512_loadu_ps(row + j), inverse));
    return top + std::log(s);
}

// Which of the 16 columns from i on are below n.
inline __mmask16 below(int64_t n, int64_t i) { return n - i >= 16 ? 0xffff : (1u << std::max<int64_t>(n - i, 0)) - 1; }

// y = LN(x + r), or LN(x) without r; keeps the normalized values and 1 / std. Rows of d numbers, padded with zeros to ld, which
// they keep. Without a gain g there is no norm: y = x + r. The sum is written, where wanted, as single precision, bfloat16 or both.
void norm(const float* x, int64_t ldx, const float* r, int64_t rows, int64_t d, int64_t ld, const float* g, const float* b, float* hat, float* rstd,
          float* y, number* yb) {
    for (int64_t t = 0; t < rows; t++) {
        const float *p = x + t * ldx, *q = r ? r + t * ld : nullptr;
        auto at = [&](int64_t i) { return q ? _mm512_add_ps(_mm512_loadu_ps(p + i), _mm512_loadu_ps(q + i)) : _mm512_loadu_ps(p + i); };
        auto write = [&](int64_t i, __m512 z) {
            if (y) _mm512_storeu_ps(y + t * ld + i, z);
            if (yb) store(yb + t * ld + i, z);
        };
        if (!g) {
            for (int64_t i = 0; i < ld; i += 16) write(i, at(i));
            continue;
        }
        float* h = hat + t * ld;
        __m512 s = _mm512_setzero_ps(), s2 = s;
        for (int64_t i = 0; i < ld; i += 16) {
            __m512 z = at(i);
            _mm512_storeu_ps(h + i, z);
            s = _mm512_add_ps(s, z);
        }
        __m512 mean = _mm512_set1_ps(sum(s) / d);
        for (int64_t i = 0; i < ld; i += 16) {
            __m512 z = _mm512_maskz_sub_ps(below(d, i), _mm512_loadu_ps(h + i), mean);
            s2 = _mm512_fmadd_ps(z, z, s2);
        }
        float inv = 1.f / std::sqrt(sum(s2) / d + 1e-5f);
        rstd[t] = inv;
        __m512 scale = _mm512_set1_ps(inv);
        for (int64_t i = 0; i < ld; i += 16) {
            __m512 z = _mm512_mul_ps(_mm512_maskz_sub_ps(below(d, i), _mm512_loadu_ps(h + i), mean), scale);
            _mm512_storeu_ps(h + i, z);
            write(i, _mm512_fmadd_ps(z, _mm512_loadu_ps(g + i), _mm512_loadu_ps(b + i)));
        }
    }
}

// In place: dy to the gradient of LN's argument, in bfloat16 too where wanted; adds to the gradients of gain and shift.
void norm_back(float* dy, const float* hat, const float* rstd, int64_t rows, int64_t d, int64_t ld, const float* g, float* dg, float* db, number* dzb) {
    if (!g) return dzb ? to_numbers(dy, dzb, rows * ld) : void();
    for (int64_t t = 0; t < rows; t++) {
        float* p = dy + t * ld;
        const float* h = hat + t * ld;
        __m512 s = _mm512_setzero_ps(), sh = s;
        for (int64_t i = 0; i < ld; i += 16) {
            __m512 y = _mm512_loadu_ps(p + i), z = _mm512_loadu_ps(h + i);
            _mm512_storeu_ps(dg + i, _mm512_fmadd_ps(y, z, _mm512_loadu_ps(dg + i)));
            _mm512_storeu_ps(db + i, _mm512_add_ps(y, _mm512_loadu_ps(db + i)));
            y = _mm512_mul_ps(y, _mm512_loadu_ps(g + i));
            s = _mm512_add_ps(s, y);
            sh = _mm512_fmadd_ps(y, z, sh);
        }
        __m512 a = _mm512_set1_ps(sum(s) / d), c = _mm512_set1_ps(sum(sh) / d), scale = _mm512_set1_ps(rstd[t]);
        for (int64_t i = 0; i < ld; i += 16) {
            __m512 y = _mm512_mul_ps(_mm512_loadu_ps(p + i), _mm512_loadu_ps(g + i));
            y = _mm512_sub_ps(_mm512_sub_ps(y, a), _mm512_mul_ps(_mm512_loadu_ps(h + i), c));
            y = _mm512_maskz_mul_ps(below(d, i), scale, y);
            _mm512_storeu_ps(p + i, y);
            if (dzb) store(dzb + t * ld + i, y);
        }
    }
}

// Φ and φ of the standard normal: Abramowitz and Stegun 7.1.26, absolute error below 1e-7.
inline void normal(__m512 x, __m512& cdf, __m512& density) {
    __m512 half = _mm512_mul_ps(x, _mm512_mul_ps(x, _mm512_set1_ps(-0.5f)));
    __m512 e = exp16(half), one = _mm512_set1_ps(1.f);
    __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(_mm512_set1_ps(0.3275911f * 0.70710678f), _mm512_abs_ps(x), one));
    __m512 p = _mm512_set1_ps(1.061405429f);
    for (float c : {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f}) p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(c));
    __m512 tail = _mm512_mul_ps(_mm512_mul_ps(p, t), _mm512_mul_ps(e, _mm512_set1_ps(0.5f)));
    cdf = _mm512_mask_sub_ps(tail, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLT_UQ), one, tail);
    density = _mm512_mul_ps(e, _mm512_set1_ps(0.39894228f));
}

// n numbers to their activations, in bfloat16; `slope` keeps GELU's derivative. ReLU's is known from its output.
void activate(Activation kind, const float* x, int64_t n, number* y, number* slope) {
    for (int64_t i = 0; i < n; i += 16) {
        __m512 z = _mm512_loadu_ps(x + i);
        if (kind == RELU) {
            store(y + i, _mm512_max_ps(_mm512_setzero_ps(), z));  // a NaN goes on
            continue;
        }
        __m512 cdf, density;
        normal(z, cdf, density);
        store(y + i, _mm512_mul_ps(z, cdf));
        store(slope + i, _mm512_fmadd_ps(z, density, cdf));
    }
}

// In place: the gradient of the activations to that of their arguments, in bfloat16 too.
void activate_back(Activation kind, float* dy, int64_t n, const number* y, const number* slope, number* dyb) {
    for (int64_t i = 0; i < n; i += 16) {
        __m512 z = _mm512_loadu_ps(dy + i);
        if (kind == RELU) {
            __m512i out = _mm512_castps_si512(load(y + i));
            z = _mm512_maskz_mov_ps(_mm512_test_epi32_mask(out, out), z);
        } else {
            z = _mm512_mul_ps(z, load(slope + i));
        }
        _mm512_storeu_ps(dy + i, z);
        store(dyb + i, z);
    }
}

void add_to_rows(float* y, int64_t ld, int64_t rows, int64_t n, const float* b) {
    for (int64_t t = 0; t < rows; t++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[t * ld + i] += b[i];
}

void add_rows(const float* y, int64_t ld, int64_t rows, int64_t n, float* sum) {
    for (int64_t t = 0; t < rows; t++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) sum[i] += y[t * ld + i];
}

// Columns [0, 16) of n rows (at most 16), ld apart, as 16 vectors: vector e holds column e, zeros beyond row n.
inline void columns16(const float* x, int64_t ld, int64_t n, __m512* out) {
    __m512 r[16], t[16];
    for (int i = 0; i < 16; i++) r[i] = i < n ? _mm512_loadu_ps(x + i * ld) : _mm512_setzero_ps();
    for (int i = 0; i < 16; i += 2) t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]), t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + 2 + j]);
            r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    for (int j = 0; j < 4; j++) {
        __m512 a = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88), b = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);
        __m512 c = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88), d = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
        out[j] = _mm512_shuffle_f32x4(a, c, 0x88), out[8 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
        out[4 + j] = _mm512_shuffle_f32x4(b, d, 0x88), out[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

// s (keys, 16) = for up to 16 queries at once, one a lane: <x_i, y_j> over `width` columns.
inline void dots(const float* x, const float* y, int64_t ldx, int64_t ldy, int64_t queries, int64_t keys, int64_t width, float* s) {
    for (int64_t e = 0; e < width; e += 16) {
        __m512 column[16];
        columns16(x + e, ldx, queries, column);
        for (int64_t j = 0; j < keys; j++) {
            __m512 sum = e ? _mm512_loadu_ps(s + 16 * j) : _mm512_setzero_ps();
            for (int c = 0; c < 16; c++) sum = _mm512_fmadd_ps(_mm512_set1_ps(y[j * ldy + e + c]), column[c], sum);
            _mm512_storeu_ps(s + 16 * j, sum);
        }
    }
}

// Rows t to t + G of y, 16 NV columns, = or += the sum over u in [from, to) of a[t * row + u * step] x_u.
template <int G, int NV>
void weighted(const float* a, int64_t row, int64_t step, int64_t from, int64_t to, const float* x, int64_t ldx, float* y, int64_t ldy, bool add) {
    __m512 s[G][NV];
    for (int g = 0; g < G; g++)
        for (int v = 0; v < NV; v++) s[g][v] = add ? _mm512_loadu_ps(y + g * ldy + 16 * v) : _mm512_setzero_ps();
    for (int64_t u = from; u < to; u++)
        for (int g = 0; g < G; g++) {
            __m512 w = _mm512_set1_ps(a[g * row + u * step]);
            for (int v = 0; v < NV; v++) s[g][v] = _mm512_fmadd_ps(w, _mm512_loadu_ps(x + u * ldx + 16 * v), s[g][v]);
        }
    for (int g = 0; g < G; g++)
        for (int v = 0; v < NV; v++) _mm512_storeu_ps(y + g * ldy + 16 * v, s[g][v]);
}

// Which of 16 queries at `position`, ascending, see key j; `first`, the first that does, only moves on.
__mmask16 seeing(const int64_t* position, int64_t j, int64_t& first) {
    while (position[first] < j) first++;
    return (__mmask16)(0xffff << first);
}

// Weights a (keys, 16) of queries at `position`, ascending, which see the keys up to there; elsewhere they are zero.
// y_i = sum of a[j][i] x_j over keys j; or, `back`, y_j += sum of a[j][i] x_i over queries i.
template <int NV>
void combine(const float* a, const int64_t* position, int64_t queries, int64_t keys, const float* x, int64_t ldx, bool back, float* y, int64_t ldy) {
    int64_t n = back ? keys : queries, first = 0;
    for (int64_t t = 0; t < n;) {
        int64_t g = n - t >= 4 ? 4 : 1;
        while (back && position[first] < t) first++;  // which sees key t
        const float* w = a + t * (back ? 16 : 1);
        int64_t from = back ? first : 0, to = back ? queries : position[t + g - 1] + 1, row = back ? 16 : 1, step = back ? 1 : 16;
        if (g == 4)
            weighted<4, NV>(w, row, step, from, to, x, ldx, y + t * ldy, ldy, back);
        else
            weighted<1, NV>(w, row, step, from, to, x, ldx, y + t * ldy, ldy, back);
        t += g;
    }
}
void combine(const float* a, const int64_t* position, int64_t queries, int64_t keys, const float* x, int64_t ldx, int64_t width, bool back, float* y, int64_t ldy) {
    int64_t e = 0;
    for (; e + 64 <= width; e += 64) combine<4>(a, position, queries, keys, x + e, ldx, back, y + e, ldy);
    for (; e + 32 <= width; e += 32) combine<2>(a, position, queries, keys, x + e, ldx, back, y + e, ldy);
    for (; e < width; e += 16) combine<1>(a, position, queries, keys, x + e, ldx, back, y + e, ldy);
}

// Weights (K, N) of single precision, packed as part of two matrices: units of rows, from column `at` of N_all columns on (for
// x w), and units of columns, from row at / together of N_all / together rows on (for dy w^T, which has K_all columns). What is
// beyond stays zero.
void pack(const float* w, int64_t K, int64_t N, int64_t at, int64_t K_all, int64_t N_all, unit* rows, unit* columns) {
    alignas(64) number part[2][64] = {};
    for (int64_t n = 0; n < N;) {
        Place to = place(at + n, N_all, K_all / together);
        int64_t wide = std::min(64 - (at + n) % 64, N - n);
        if (wide % 2) part[0][wide] = part[1][wide] = 0;
        for (int64_t k = 0; k < K; k += together) {
            for (int64_t r = 0; r < together; r++)
                if (k + r < K)
                    to_numbers(w + (k + r) * N + n, part[r], wide);
                else
                    std::fill(part[r], part[r] + 64, number(0));
            interleave(part[0], 64, together, wide, rows + to.first + k / together * to.step, wide);
            Place back = place(k, K_all, N_all / together);  // k is even where numbers are paired, and panels are even
            unit* c = columns + back.first + (at + n) / together * back.step;
            for (int64_t r = 0; r < together; r++)
                for (int64_t i = 0; i < (wide + together - 1) / together; i++) c[i * back.step + r] = ((const unit*)part[r])[i];
        }
        n += wide;
    }
}

// A parameter: rows of `cols` numbers that Python keeps one after the other; its gradient, and our copy of a vector, has them ld
// apart, padded with zeros.
struct Parameter {
    int64_t rows, cols, ld, offset;
    int64_t size() const { return rows * cols; }
};

struct Block {
    int q, k, v, o, bq, bk, bv, bo, g1, b1, g2, b2, w1, w2, c1, c2;
};

// What the parameters of a model are, in the order in which Python passes them.
struct Plan {
    Shape s;
    int64_t d, f, k, v, nq, padded, vp;  // padded: widths; columns of Q, K, V side by side; of a row of attention; of the logits
    std::vector<Parameter> parameters;
    std::vector<Block> blocks;
    int token, position, gain, shift, head, head_bias;
    int64_t total = 0, room = 0;  // numbers, and numbers with padding

    explicit Plan(const Shape& s)
        : s(s), d(whole(s.d)), f(whole(s.f)), k(whole(s.k)), v(whole(s.v)), nq(2 * k + v), padded(whole(s.length)), vp(whole(s.vocab)) {
        token = add(true, s.vocab, s.d), position = add(true, s.positions, s.d);
        bool norms = s.norm != NONE;
        for (int64_t l = 0; l < s.depth; l++) {
            Block b;
            b.q = add(true, s.d, s.k), b.k = add(true, s.d, s.k), b.v = add(true, s.d, s.v), b.o = add(true, s.v, s.d);
            b.bq = add(s.bias, 1, s.k), b.bk = add(s.bias, 1, s.k), b.bv = add(s.bias, 1, s.v), b.bo = add(s.bias, 1, s.d);
            b.g1 = add(norms, 1, s.d), b.b1 = add(norms, 1, s.d), b.g2 = add(norms, 1, s.d), b.b2 = add(norms, 1, s.d);
            b.w1 = add(true, s.d, s.f), b.w2 = add(true, s.f, s.d);
            b.c1 = add(s.bias, 1, s.f), b.c2 = add(s.bias, 1, s.d);
            blocks.push_back(b);
        }
        gain = add(s.norm == PRE, 1, s.d), shift = add(s.norm == PRE, 1, s.d);
        head = add(s.head == OWN, s.d, s.vocab), head_bias = add(s.head_bias, 1, s.vocab);
    }
    int add(bool there, int64_t rows, int64_t cols) {
        if (!there) return -1;
        parameters.push_back({rows, cols, whole(cols), room});
        total += rows * cols, room += rows * whole(cols);
        return (int)parameters.size() - 1;
    }
};

// The rows of a chunk that ask: their positions, ascending within a sequence, and where each sequence's begin, and the last end.
struct Queries {
    std::vector<int64_t> position, start;
};

// What one thread needs to train one run at a time: packed weights, gradients, and the activations of a chunk.
struct Worker {
    struct Layer {
        Array<kept> q, q_t, kv, kv_t, o, o_t, w1, w1_t, w2, w2_t;
        Array<number> xb, ob, aob, hb, slope;
        Array<float> x, qkv_out, p, hat1, rstd1, ao, hat2, rstd2, dkv;
    };
    const Plan& plan;
    const Shape& s;
    std::vector<Layer> layers;
    Array<kept> head, head_t, left, right;
    Array<float> grad, vectors, y, wide, dx, dqkv, logits, out, hat, rstd, some, some_q, some_dq, ds;
    Array<number> outb, someb, small, wideb, dqkvb, some_dqb, dlb;
    Queries all, asked;  // every row; and those with a target, the only ones that the last layer has queries for

    explicit Worker(const Plan& plan) : plan(plan), s(plan.s) {
        int64_t T = s.chunk * s.length, d = plan.d, f = plan.f, k = plan.k, v = plan.v, nq = plan.nq, R = s.every ? T : s.chunk;
        layers.resize(s.depth);
        for (auto& l : layers) {
            l.q.resize(d / together * k), l.q_t.resize(k / together * d), l.kv.resize(d / together * (k + v));
            l.kv_t.resize((k + v) / together * d), l.o.resize(v / together * d), l.o_t.resize(d / together * v);
            l.w1.resize(d / together * f), l.w1_t.resize(f / together * d), l.w2.resize(f / together * d), l.w2_t.resize(d / together * f);
            l.xb.resize(T * d), l.ob.resize(T * v), l.aob.resize(T * d), l.hb.resize(T * f), l.slope.resize(s.activation == GELU ? T * f : 0);
            l.x.resize(T * d), l.qkv_out.resize(T * nq), l.p.resize(T * s.heads * plan.padded), l.dkv.resize(d * (k + v));
            l.hat1.resize(T * d), l.hat2.resize(T * d), l.ao.resize(T * d), l.rstd1.resize(T), l.rstd2.resize(T);
        }
        head.resize(d / together * plan.vp), head_t.resize(plan.vp / together * d);
        int64_t widest = apart(std::max({d, f, nq, plan.vp}));
        left.resize((T + together - 1) / together * widest), right.resize((T + together - 1) / together * widest);
        grad.resize(plan.room), vectors.resize(plan.room - plan.parameters[0].rows * d);
        y.resize(T * std::max(d, v)), wide.resize(T * f), dx.resize(T * std::max(d, v)), dqkv.resize(T * nq), logits.resize(R * plan.vp);
        out.resize(R * d), outb.resize(R * d), hat.resize(R * d), rstd.resize(R);
        some.resize(R * d), someb.resize(R * d), some_q.resize(R * k), some_dq.resize(R * k), some_dqb.resize(R * k), ds.resize(s.length * 16);
        small.resize(T * d), wideb.resize(T * f), dqkvb.resize(T * nq), dlb.resize(R * plan.vp);
        for (int64_t t = 0; t < T; t++) all.position.push_back(t % s.length);
        for (int64_t b = 0; b <= s.chunk; b++) all.start.push_back(b * s.length);
    }

    // What a chunk's targets ask: of every position, where a negative one asks nothing; or of the last alone.
    void find_asked(const int64_t* target, int64_t n) {
        asked.position.clear(), asked.start.assign(1, 0);
        for (int64_t b = 0; b < n; b++) {
            for (int64_t i = s.every ? 0 : s.length - 1; i < s.length; i++)
                if (!s.every || target[b * s.length + i] >= 0) asked.position.push_back(i);
            asked.start.push_back(asked.position.size());
        }
    }

    // f(r, t) for every row r that is asked for, which is row t of the chunk.
    template <class F>
    void for_asked(int64_t n, F f) {
        for (int64_t b = 0; b < n; b++)
            for (int64_t r = asked.start[b]; r < asked.start[b + 1]; r++) f(r, b * s.length + asked.position[r]);
    }

    // The gradient of a parameter as it is computed; the vector that a parameter is, padded with zeros; null for none.
    float* gradient(int p) { return p < 0 ? nullptr : &grad[plan.parameters[p].offset]; }
    const float* vector(int p) const { return p < 0 ? nullptr : &vectors[plan.parameters[p].offset - plan.parameters[0].rows * plan.d]; }

    void pack_weights(const std::vector<const float*>& w) {
        int64_t d = plan.d, f = plan.f, k = plan.k, v = plan.v;
        for (size_t p = 2; p < w.size(); p++) {
            auto& q = plan.parameters[p];
            if (q.rows == 1) std::memcpy((float*)vector((int)p), w[p], q.cols * sizeof(float));
        }
        for (int64_t i = 0; i < s.depth; i++) {
            auto& l = layers[i];
            auto& b = plan.blocks[i];
            pack(w[b.q], s.d, s.k, 0, d, k, l.q.data(), l.q_t.data());
            pack(w[b.k], s.d, s.k, 0, d, k + v, l.kv.data(), l.kv_t.data());
            pack(w[b.v], s.d, s.v, k, d, k + v, l.kv.data(), l.kv_t.data());
            pack(w[b.o], s.v, s.d, 0, v, d, l.o.data(), l.o_t.data());
            pack(w[b.w1], s.d, s.f, 0, d, f, l.w1.data(), l.w1_t.data());
            pack(w[b.w2], s.f, s.d, 0, f, d, l.w2.data(), l.w2_t.data());
        }
        if (s.head == OWN) pack(w[plan.head], s.d, s.vocab, 0, d, plan.vp, head.data(), head_t.data());
        if (s.head == TIED) pack(w[plan.token], s.vocab, s.d, 0, plan.vp, d, head_t.data(), head.data());
    }

    // Where many queries are asked they are taken 16 at a time, one a lane of a vector, so that no sum runs across lanes. Heads must
    // be whole vectors; a single head is, with its padding. The weights of 16 queries are kept key by key.
    bool by_lanes(const Queries& of) const {
        return (&of == &all || s.every) && (s.heads == 1 || (s.k / s.heads % 16 == 0 && s.v / s.heads % 16 == 0));
    }

    // f(sequence, head, first query, how many, weights) for every 16 queries of a sequence and head, or what is left of them.
    template <class F>
    void tiles(Layer& l, const Queries& of, int64_t n_seq, F f) {
        for (int64_t b = 0; b < n_seq; b++)
            for (int64_t h = 0; h < s.heads; h++) {
                float* p = &l.p[(b * s.heads + h) * s.length * plan.padded];
                for (int64_t r = of.start[b]; r < of.start[b + 1]; r += 16, p += s.length * 16)
                    f(b, h, r, std::min<int64_t>(16, of.start[b + 1] - r), p);
            }
    }

    void attend_by_lanes(Layer& l, const Queries& of, const float* q, int64_t ldq, int64_t n_seq) {
        int64_t N = s.length, H = s.heads, nq = plan.nq, dk = plan.k / H, dv = plan.v / H;
        __m512 scale = _mm512_set1_ps(1.f / std::sqrt((float)(s.k / H)));
        alignas(64) float o[16 * 512];
        tiles(l, of, n_seq, [&](int64_t b, int64_t h, int64_t r, int64_t lanes, float* p) {
            const int64_t* position = &of.position[r];
            const float* at = &l.qkv_out[b * N * nq];
            int64_t keys = position[lanes - 1] + 1;
            dots(q + r * ldq + h * dk, at + plan.k + h * dk, ldq, nq, lanes, keys, dk, p);
            __m512 total = _mm512_setzero_ps(), high = _mm512_set1_ps(-INFINITY);
            for (int64_t j = 0, first = 0; j < keys; j++) {
                __m512 e = _mm512_mul_ps(_mm512_loadu_ps(p + 16 * j), scale);
                _mm512_storeu_ps(p + 16 * j, e);
                high = _mm512_mask_max_ps(high, seeing(position, j, first), high, e);
            }
            for (int64_t j = 0, first = 0; j < keys; j++) {
                __m512 e = exp16(_mm512_sub_ps(_mm512_loadu_ps(p + 16 * j), high));
                e = _mm512_maskz_mov_ps(seeing(position, j, first), e);
                total = _mm512_add_ps(total, e);
                _mm512_storeu_ps(p + 16 * j, e);
            }
            __m512 inverse = _mm512_div_ps(_mm512_set1_ps(1.f), total);
            for (int64_t j = 0; j < keys; j++) _mm512_storeu_ps(p + 16 * j, _mm512_mul_ps(_mm512_loadu_ps(p + 16 * j), inverse));
            combine(p, position, lanes, keys, at + 2 * plan.k + h * dv, nq, dv, false, o, dv);
            for (int64_t i = 0; i < lanes; i++) to_numbers(o + i * dv, &l.ob[(r + i) * plan.v + h * dv], dv);
        });
    }

    void attend_back_by_lanes(Layer& l, const Queries& of, const float* q, int64_t ldq, const float* dout, float* dq, int64_t n_seq) {
        int64_t N = s.length, H = s.heads, nq = plan.nq, dk = plan.k / H, dv = plan.v / H;
        __m512 scale = _mm512_set1_ps(1.f / std::sqrt((float)(s.k / H)));
        tiles(l, of, n_seq, [&](int64_t b, int64_t h, int64_t r, int64_t lanes, float* p) {
            const int64_t* position = &of.position[r];
            const float *at = &l.qkv_out[b * N * nq], *g = dout + r * plan.v + h * dv;
            float* to = &dqkv[b * N * nq];
            int64_t keys = position[lanes - 1] + 1;
            __m512 mean = _mm512_setzero_ps();
            dots(g, at + 2 * plan.k + h * dv, plan.v, nq, lanes, keys, dv, ds.data());
            for (int64_t j = 0; j < keys; j++) mean = _mm512_fmadd_ps(_mm512_loadu_ps(p + 16 * j), _mm512_loadu_ps(&ds[16 * j]), mean);
            for (int64_t j = 0; j < keys; j++) {
                __m512 by = _mm512_mul_ps(_mm512_loadu_ps(p + 16 * j), _mm512_sub_ps(_mm512_loadu_ps(&ds[16 * j]), mean));
                _mm512_storeu_ps(&ds[16 * j], _mm512_mul_ps(by, scale));
            }
            combine(p, position, lanes, keys, g, plan.v, dv, true, to + 2 * plan.k + h * dv, nq);
            combine(ds.data(), position, lanes, keys, at + plan.k + h * dk, nq, dk, false, dq + r * ldq + h * dk, ldq);
            combine(ds.data(), position, lanes, keys, q + r * ldq + h * dk, ldq, dk, true, to + plan.k + h * dk, nq);
        });
    }

    // Attention of one chunk: reads the queries (ldq apart), keys and values of a layer, keeps the weights, writes the outputs.
    void attend(Layer& l, const Queries& of, const float* queries, int64_t ldq, int64_t n_seq) {
        if (by_lanes(of)) return attend_by_lanes(l, of, queries, ldq, n_seq);
        int64_t N = s.length, H = s.heads, nq = plan.nq, dk = s.k / H, dv = s.v / H, P = plan.padded;
        float scale = 1.f / std::sqrt((float)dk);
        alignas(64) float o[512];
        for (int64_t b = 0; b < n_seq; b++)
            for (int64_t h = 0; h < H; h++)
                for (int64_t r = of.start[b]; r < of.start[b + 1]; r++) {
                    const float* q = queries + r * ldq + h * dk;
                    float* p = &l.p[(r * H + h) * P];
                    int64_t seen = of.position[r] + 1;
                    for (int64_t j = 0; j < seen; j++) {
                        const float* k = &l.qkv_out[(b * N + j) * nq + plan.k + h * dk];
                        float dot = 0;
#pragma omp simd reduction(+ : dot)
                        for (int64_t e = 0; e < dk; e++) dot += q[e] * k[e];
                        p[j] = dot;
                    }
                    softmax(p, seen, P, scale);
                    std::fill(o, o + dv, 0.f);
                    for (int64_t j = 0; j < seen; j++) {
                        const float *v = &l.qkv_out[(b * N + j) * nq + 2 * plan.k + h * dv], a = p[j];
#pragma omp simd
                        for (int64_t e = 0; e < dv; e++) o[e] += a * v[e];
                    }
                    to_numbers(o, &l.ob[r * plan.v + h * dv], dv);
                }
    }

    // From the gradient of the outputs (rows of v) to that of the queries, in `dqs`, and of k and v, in `dqkv`; both are zeroed first.
    void attend_back(Layer& l, const Queries& of, const float* queries, int64_t ldq, const float* dout, float* dqs, int64_t n_seq) {
        int64_t N = s.length, H = s.heads, nq = plan.nq, dk = s.k / H, dv = s.v / H, P = plan.padded;
        std::fill(dqkv.begin(), dqkv.begin() + n_seq * N * nq, 0.f);
        if (&of != &all) std::fill(dqs, dqs + of.start[n_seq] * ldq, 0.f);
        if (by_lanes(of)) return attend_back_by_lanes(l, of, queries, ldq, dout, dqs, n_seq);
        float scale = 1.f / std::sqrt((float)dk);
        alignas(64) float ds[512];
        for (int64_t b = 0; b < n_seq; b++)
            for (int64_t h = 0; h < H; h++)
                for (int64_t r = of.start[b]; r < of.start[b + 1]; r++) {
                    const float *p = &l.p[(r * H + h) * P], *g = dout + r * plan.v + h * dv, *q = queries + r * ldq + h * dk;
                    float* dq = dqs + r * ldq + h * dk;
                    float mean = 0;
                    int64_t seen = of.position[r] + 1;
                    for (int64_t j = 0; j < seen; j++) {
                        const float *v = &l.qkv_out[(b * N + j) * nq + 2 * plan.k + h * dv], a = p[j];
                        float *dvj = &dqkv[(b * N + j) * nq + 2 * plan.k + h * dv], dot = 0;
                        for (int64_t e = 0; e < dv; e++) dot = std::fma(g[e], v[e], dot);  // in this order, whatever the compiler
#pragma omp simd
                        for (int64_t e = 0; e < dv; e++) dvj[e] += a * g[e];
                        ds[j] = dot;
                        mean += a * dot;
                    }
                    for (int64_t j = 0; j < seen; j++) {
                        const float* k = &l.qkv_out[(b * N + j) * nq + plan.k + h * dk];
                        float *dkj = &dqkv[(b * N + j) * nq + plan.k + h * dk], a = p[j] * (ds[j] - mean) * scale;
#pragma omp simd
                        for (int64_t e = 0; e < dk; e++) {
                            dq[e] += a * k[e];
                            dkj[e] += a * q[e];
                        }
                    }
                }
    }

    // y (rows, n) += a bias, where there is one; and the gradient of that.
    void biased(float* y, int64_t ld, int64_t rows, int p) {
        if (p >= 0) add_to_rows(y, ld, rows, plan.parameters[p].cols, vector(p));
    }
    void biased_back(const float* dy, int64_t ld, int64_t rows, int p) {
        if (p >= 0) add_rows(dy, ld, rows, plan.parameters[p].cols, gradient(p));
    }

    // The gradient of a matrix, += x^T dy over R rows; x has n columns, of which the parameter has rows.
    void outer_product(const number* x, int64_t ldx, int64_t n, const number* dy, int64_t ldy, int64_t R, int64_t columns, float* dw, int64_t rows) {
        interleave(x, ldx, R, n, left.data(), apart(n));
        interleave(dy, ldy, R, columns, right.data(), 0);
        outer(R, rows, columns, left.data(), apart(n), right.data(), dw, columns);
    }

    // Adds the gradients of n sequences to `grad`, each of whose losses counts as one of `total`; returns the sum of their losses.
    double chunk(const std::vector<const float*>& w, const int64_t* tokens, const int64_t* target, int64_t n, int64_t total) {
        int64_t N = s.length, T = n * N, d = plan.d, f = plan.f, nk = plan.k, nv = plan.v, nq = plan.nq, D = s.depth;
        bool pre = s.norm == PRE;
        Activation kind = (Activation)s.activation;
        for (int64_t t = 0; t < T; t++) {
            const float *a = w[plan.token] + tokens[t] * s.d, *b = w[plan.position] + t % N * s.d;
            float* x = &layers[0].x[t * d];
#pragma omp simd
            for (int64_t i = 0; i < s.d; i++) x[i] = a[i] + b[i];
        }
        if (!pre) to_numbers(layers[0].x.data(), layers[0].xb.data(), T * d);
        find_asked(target, n);
        int64_t A = asked.position.size();
        for (int64_t i = 0; i < D; i++) {
            auto& l = layers[i];
            auto& b = plan.blocks[i];
            bool last = i == D - 1;
            int64_t R = last ? A : T;  // rows that go on
            if (pre) norm(l.x.data(), d, nullptr, T, s.d, d, vector(b.g1), vector(b.b1), l.hat1.data(), l.rstd1.data(), nullptr, l.xb.data());
            times(T, nk + nv, d, l.xb.data(), d, l.kv.data(), l.qkv_out.data() + nk, nq);
            if (last)
                for_asked(n, [&](int64_t r, int64_t t) {
                    std::copy_n(&l.x[t * d], d, &some[r * d]);
                    std::copy_n(&l.xb[t * d], d, &someb[r * d]);
                });
            const float* x = last ? some.data() : l.x.data();
            float* q = last ? some_q.data() : l.qkv_out.data();
            int64_t ldq = last ? nk : nq;
            times(R, nk, d, last ? someb.data() : l.xb.data(), d, l.q.data(), q, ldq);
            biased(q, ldq, R, b.bq), biased(l.qkv_out.data() + nk, nq, T, b.bk), biased(l.qkv_out.data() + 2 * nk, nq, T, b.bv);
            attend(l, last ? asked : all, q, ldq, n);
            times(R, d, nv, l.ob.data(), nv, l.o.data(), y.data(), d);
            biased(y.data(), d, R, b.bo);
            if (pre) {
                norm(x, d, y.data(), R, s.d, d, nullptr, nullptr, nullptr, nullptr, l.ao.data(), nullptr);
                norm(l.ao.data(), d, nullptr, R, s.d, d, vector(b.g2), vector(b.b2), l.hat2.data(), l.rstd2.data(), nullptr, l.aob.data());
            } else {
                norm(x, d, y.data(), R, s.d, d, vector(b.g1), vector(b.b1), l.hat1.data(), l.rstd1.data(), l.ao.data(), l.aob.data());
            }
            times(R, f, d, l.aob.data(), d, l.w1.data(), wide.data(), f);
            biased(wide.data(), f, R, b.c1);
            activate(kind, wide.data(), R * f, l.hb.data(), l.slope.data());
            times(R, d, f, l.hb.data(), f, l.w2.data(), y.data(), d);
            biased(y.data(), d, R, b.c2);
            float* next = last ? out.data() : layers[i + 1].x.data();
            number* nextb = pre ? nullptr : last ? outb.data() : layers[i + 1].xb.data();
            norm(l.ao.data(), d, y.data(), R, s.d, d, pre ? nullptr : vector(b.g2), vector(b.b2), l.hat2.data(), l.rstd2.data(), next, nextb);
        }
        if (pre) norm(out.data(), d, nullptr, A, s.d, d, vector(plan.gain), vector(plan.shift), hat.data(), rstd.data(), out.data(), outb.data());

        // The head, the loss, and the gradient of the logits.
        int64_t V = s.vocab, vp = plan.vp;
        double loss = 0;
        if (s.head)
            times(A, vp, d, outb.data(), d, head.data(), logits.data(), vp);
        else
            std::copy(out.begin(), out.begin() + A * d, logits.begin());
        biased(logits.data(), vp, A, plan.head_bias);
        for_asked(n, [&](int64_t r, int64_t t) {
            float* z = &logits[r * vp];
            int64_t right = target[s.every ? t : t / N];
            float right_one = z[right];
            loss += softmax(z, V, vp, 1.f) - right_one;
            z[right] -= 1;
            for (int64_t j = 0; j < V; j++) z[j] /= total;
        });
        biased_back(logits.data(), vp, A, plan.head_bias);
        if (s.head) {
            to_numbers(logits.data(), dlb.data(), A * vp);
            if (s.head == TIED)
                outer_product(dlb.data(), vp, vp, outb.data(), d, A, d, gradient(plan.token), V);
            else
                outer_product(outb.data(), d, d, dlb.data(), vp, A, vp, gradient(plan.head), s.d);
            times(A, d, vp, dlb.data(), vp, head_t.data(), dx.data(), d);
        } else {
            std::copy(logits.begin(), logits.begin() + A * d, dx.begin());
        }
        if (pre) norm_back(dx.data(), hat.data(), rstd.data(), A, s.d, d, vector(plan.gain), gradient(plan.gain), gradient(plan.shift), nullptr);

        for (int64_t i = D - 1; i >= 0; i--) {
            auto& l = layers[i];
            auto& b = plan.blocks[i];
            bool last = i == D - 1;
            int64_t R = last ? A : T;
            norm_back(dx.data(), l.hat2.data(), l.rstd2.data(), R, s.d, d, pre ? nullptr : vector(b.g2), gradient(b.g2), gradient(b.b2), small.data());
            biased_back(dx.data(), d, R, b.c2);
            outer_product(l.hb.data(), f, f, small.data(), d, R, d, gradient(b.w2), s.f);
            times(R, f, d, small.data(), d, l.w2_t.data(), wide.data(), f);
            activate_back(kind, wide.data(), R * f, l.hb.data(), l.slope.data(), wideb.data());
            biased_back(wide.data(), f, R, b.c1);
            outer_product(l.aob.data(), d, d, wideb.data(), f, R, f, gradient(b.w1), s.d);
            if (pre) {  // through the norm, then on top of the residual's gradient
                times(R, d, f, wideb.data(), f, l.w1_t.data(), y.data(), d);
                norm_back(y.data(), l.hat2.data(), l.rstd2.data(), R, s.d, d, vector(b.g2), gradient(b.g2), gradient(b.b2), nullptr);
                add_to_rows(dx.data(), R * d, 1, R * d, y.data());
                to_numbers(dx.data(), small.data(), R * d);
            } else {
                times(R, d, f, wideb.data(), f, l.w1_t.data(), dx.data(), d, true);
                norm_back(dx.data(), l.hat1.data(), l.rstd1.data(), R, s.d, d, vector(b.g1), gradient(b.g1), gradient(b.b1), small.data());
            }
            biased_back(dx.data(), d, R, b.bo);
            outer_product(l.ob.data(), nv, nv, small.data(), d, R, d, gradient(b.o), s.v);
            times(R, nv, d, small.data(), d, l.o_t.data(), y.data(), nv);
            const float* q = last ? some_q.data() : l.qkv_out.data();
            float* dq = last ? some_dq.data() : dqkv.data();
            number* dqb = last ? some_dqb.data() : dqkvb.data();
            int64_t ldq = last ? nk : nq;
            attend_back(l, last ? asked : all, q, ldq, y.data(), dq, n);
            biased_back(dq, ldq, R, b.bq), biased_back(dqkv.data() + nk, nq, T, b.bk), biased_back(dqkv.data() + 2 * nk, nq, T, b.bv);
            to_numbers(dqkv.data(), dqkvb.data(), T * nq);
            if (last) to_numbers(dq, dqb, R * nk);
            outer_product(l.xb.data(), d, d, dqkvb.data() + nk, nq, T, nk + nv, l.dkv.data(), s.d);
            outer_product(last ? someb.data() : l.xb.data(), d, d, dqb, ldq, R, nk, gradient(b.q), s.d);
            bool apart = last || pre;  // from the residual's gradient, for now
            float* to = apart ? y.data() : dx.data();
            times(T, d, nk + nv, dqkvb.data() + nk, nq, l.kv_t.data(), to, d, !apart);
            if (last) {
                for_asked(n, [&](int64_t r, int64_t t) { std::copy_n(to + t * d, d, &some[r * d]); });
                times(R, d, nk, dqb, ldq, l.q_t.data(), some.data(), d, true);
                for_asked(n, [&](int64_t r, int64_t t) { std::copy_n(&some[r * d], d, to + t * d); });
            } else {
                times(R, d, nk, dqb, ldq, l.q_t.data(), to, d, true);
            }
            if (pre) norm_back(to, l.hat1.data(), l.rstd1.data(), T, s.d, d, vector(b.g1), gradient(b.g1), gradient(b.b1), nullptr);
            if (last)
                for_asked(n, [&](int64_t r, int64_t t) { add_to_rows(to + t * d, d, 1, d, &dx[r * d]); });
            else if (apart)
                add_to_rows(to, T * d, 1, T * d, dx.data());
            if (apart) std::swap(dx, y);
        }
        for (int64_t t = 0; t < T; t++) {
            float *a = gradient(plan.token) + tokens[t] * d, *b = gradient(plan.position) + t % N * d;
            const float* g = &dx[t * d];
#pragma omp simd
            for (int64_t i = 0; i < d; i++) a[i] += g[i], b[i] += g[i];
        }
        return loss;
    }

    // The mean loss; leaves the gradients in `grad`, each parameter's without padding.
    double gradients(const std::vector<const float*>& w, const int64_t* tokens, const int64_t* target) {
        std::fill(grad.begin(), grad.end(), 0.f);
        for (auto& l : layers) std::fill(l.dkv.begin(), l.dkv.end(), 0.f);
        pack_weights(w);
        double loss = 0;
        int64_t each = s.every ? s.length : 1, total = s.batch;
        if (s.every) total = std::max<int64_t>(1, std::count_if(target, target + s.batch * each, [](int64_t t) { return t >= 0; }));
        for (int64_t first = 0; first < s.batch; first += s.chunk)
            loss += chunk(w, tokens + first * s.length, target + first * each, std::min(s.chunk, s.batch - first), total);
        for (int64_t i = 0; i < s.depth; i++) {  // take apart what was computed side by side
            auto& b = plan.blocks[i];
            for (int64_t r = 0; r < s.d; r++) {
                const float* from = &layers[i].dkv[r * (plan.k + plan.v)];
                std::memcpy(gradient(b.k) + r * plan.k, from, s.k * sizeof(float));
                std::memcpy(gradient(b.v) + r * plan.v, from + plan.k, s.v * sizeof(float));
            }
        }
        for (auto& p : plan.parameters)
            for (int64_t r = 1; r < p.rows && p.cols < p.ld; r++) std::memmove(&grad[p.offset + r * p.cols], &grad[p.offset + r * p.ld], p.cols * sizeof(float));
        return loss / total;
    }

    // AdamW with clipping, as lib/core/train/optim.py.
    void update(float* const* w, float* const* m, float* const* v, double rate, double decay, int64_t count, double max_norm) {
        double squares = 0;
        for (auto& p : plan.parameters) {
            float part = 0;
            const float* g = &grad[p.offset];
#pragma omp simd reduction(+ : part)
            for (int64_t i = 0; i < p.size(); i++) part += g[i] * g[i];
            squares += part;
        }
        float scale = (float)(max_norm / (std::sqrt(squares) + 1e-6));
        if (scale > 1) scale = 1;  // a NaN goes on
        float step = (float)(rate / (1 - std::pow(0.9, (double)count))), keep = 1 - (float)(rate * decay);
        float root = 1.f / (float)std::sqrt(1 - std::pow(0.999, (double)count));
        for (size_t p = 0; p < plan.parameters.size(); p++) {
            const float* g = gradient((int)p);
            float *a = w[p], *b = m[p], *c = v[p];
#pragma omp simd
            for (int64_t i = 0; i < plan.parameters[p].size(); i++) {
                float x = g[i] * scale;
                b[i] += 0.1f * (x - b[i]);
                c[i] = 0.999f * c[i] + 0.001f * x * x;
                a[i] = a[i] * keep - step * b[i] / (std::sqrt(c[i]) * root + 1e-8f);
            }
        }
    }
};

struct Engine {
    Plan plan;
    std::vector<std::unique_ptr<Worker>> workers;
    Engine(const Shape& s, int64_t threads) : plan(s) {
        for (int64_t t = 0; t < threads; t++) workers.push_back(std::make_unique<Worker>(plan));
    }
};

Shape shape_of(const int64_t* numbers) {
    Shape s;
    static_assert(sizeof s == 17 * sizeof(int64_t));
    std::memcpy(&s, numbers, sizeof s);
    return s;
}

}  // namespace

extern "C" {

// Can this program train the shape? Heads and sequences must fit into arrays of a fixed size.
int64_t rm_trains(const int64_t* shape) {
    Shape s = shape_of(shape);
    return (s.head || s.vocab == s.d) && s.k % s.heads == 0 && s.v % s.heads == 0 && s.k <= 512 * s.heads && s.v <= 512 * s.heads && s.length <= 512;
}

Engine* rm_new(const int64_t* shape, int64_t threads) { return new Engine(shape_of(shape), threads); }

void rm_delete(Engine* engine) { delete engine; }

// One step of n runs, those numbered in `active`. w, m, v: for each parameter in the order of Plan, the array of all runs.
// With `gradients` not null nothing is updated: the gradients are written there, run after run, in the order of Plan.
void rm_step(Engine* engine, int64_t n, const int64_t* active, float* const* w, float* const* m, float* const* v, const int64_t* tokens,
             const int64_t* target, const double* rate, const double* decay, const int64_t* count, double max_norm, float* loss, float* gradients) {
    const Plan& plan = engine->plan;
    const Shape& s = plan.s;
    std::atomic<int64_t> next{0};
    auto work = [&](Worker& worker) {
        size_t P = plan.parameters.size();
        std::vector<const float*> now(P);
        std::vector<float*> ww(P), mm(P), vv(P);
        for (int64_t i; (i = next++) < n;) {
            int64_t r = active[i];
            for (size_t p = 0; p < P; p++) {
                int64_t size = plan.parameters[p].size();
                now[p] = ww[p] = w[p] + r * size;
                if (!gradients) mm[p] = m[p] + r * size, vv[p] = v[p] + r * size;
            }
            loss[r] = (float)worker.gradients(now, tokens + r * s.batch * s.length, target + r * s.batch * (s.every ? s.length : 1));
            if (!gradients) {
                worker.update(ww.data(), mm.data(), vv.data(), rate[r], decay[r], count[r], max_norm);
                continue;
            }
            float* to = gradients + r * plan.total;
            for (size_t p = 0; p < P; to += plan.parameters[p++].size()) std::memcpy(to, worker.gradient(p), plan.parameters[p].size() * sizeof(float));
        }
    };
    std::vector<std::thread> others;
    for (size_t t = 1; t < engine->workers.size() && (int64_t)t < n; t++) others.emplace_back(work, std::ref(*engine->workers[t]));
    work(*engine->workers[0]);
    for (auto& t : others) t.join();
}
}
