// One training step of many small transformers on a CPU with AVX-512 bfloat16 products: forward, backward, clip, AdamW.
//
// The model is that of lib/core/model.py with post-norm or none, ReLU, and no biases but the head's, if it has a head. A run is the work of one thread from
// its first token to its last weight, so its result depends on nothing that is trained beside it, bit for bit. Sequences are
// taken in chunks whose activations stay in the core's own cache. Products take bfloat16 and add in single precision; all else
// is single precision. Compiled by lib/core/native/__init__.py, which documents the call.
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using u32 = uint32_t;
using bf = uint16_t;
typedef u32 pair __attribute__((may_alias));  // two bfloat16 that were written one by one

namespace {

struct Shape {
    int64_t vocab, positions, depth, d, f, k, v, heads, batch, length, head_bias, chunk, norm, head;
};

inline bf to_bf(float x) {  // to nearest, ties to even; NaN stays NaN
    u32 u;
    std::memcpy(&u, &x, 4);
    if ((u & 0x7fffffff) > 0x7f800000) return (u >> 16) | 0x40;
    return (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}

void to_bf(const float* x, bf* y, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) _mm256_storeu_si256((__m256i*)(y + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(x + i)));
    for (; i < n; i++) y[i] = to_bf(x[i]);
}

// Two rows as one row of pairs: what a product needs whose sum runs over rows. An odd last row is paired with zeros.
void interleave(const bf* x, int64_t rows, int64_t n, u32* out) {
    for (int64_t t = 0; t < rows; t += 2) {
        const bf *a = x + t * n, *b = a + n;
        u32* o = out + t / 2 * n;
        if (t + 1 < rows)
            for (int64_t i = 0; i < n; i++) o[i] = a[i] | (u32)b[i] << 16;
        else
            for (int64_t i = 0; i < n; i++) o[i] = a[i];
    }
}

// c[m][16 NV] (+)= sum over K2 pairs of a[m * row + p * step] times b[p][16 NV]; MR rows and NV vectors live in registers.
template <int MR, int NV>
void micro(const pair* a, int64_t row, int64_t step, const u32* b, int64_t ldb, int64_t K2, float* c, int64_t ldc, bool add) {
    __m512 s[MR][NV];
#pragma GCC unroll 8
    for (int m = 0; m < MR; m++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) s[m][j] = add ? _mm512_loadu_ps(c + m * ldc + 16 * j) : _mm512_setzero_ps();
    for (int64_t p = 0; p < K2; p++) {
        __m512bh w[NV];
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) w[j] = (__m512bh)_mm512_loadu_si512(b + p * ldb + 16 * j);
#pragma GCC unroll 8
        for (int m = 0; m < MR; m++) {
            __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[m * row + p * step]);
#pragma GCC unroll 4
            for (int j = 0; j < NV; j++) s[m][j] = _mm512_dpbf16_ps(s[m][j], x, w[j]);
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < MR; m++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) _mm512_storeu_ps(c + m * ldc + 16 * j, s[m][j]);
}

template <int NV>
void panel(int64_t M, const pair* a, int64_t row, int64_t step, const u32* b, int64_t ldb, int64_t K2, float* c, int64_t ldc, bool add) {
    int64_t m = 0;
    for (; m + 6 <= M; m += 6) micro<6, NV>(a + m * row, row, step, b, ldb, K2, c + m * ldc, ldc, add);
    const pair* r = a + m * row;
    float* o = c + m * ldc;
    switch (M - m) {
        case 5: micro<5, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 4: micro<4, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 3: micro<3, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 2: micro<2, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
        case 1: micro<1, NV>(r, row, step, b, ldb, K2, o, ldc, add); break;
    }
}

// c (M, N) = or += a b. a[m][p] is the pair at a[m * row + p * step]; b is (K2, N) pairs. N is a multiple of 16.
void product(int64_t M, int64_t N, int64_t K2, const pair* a, int64_t row, int64_t step, const u32* b, int64_t ldb, float* c, int64_t ldc, bool add) {
    for (int64_t n = 0; n < N; n += 64) {
        switch (std::min<int64_t>(4, (N - n) / 16)) {
            case 4: panel<4>(M, a, row, step, b + n, ldb, K2, c + n, ldc, add); break;
            case 3: panel<3>(M, a, row, step, b + n, ldb, K2, c + n, ldc, add); break;
            case 2: panel<2>(M, a, row, step, b + n, ldb, K2, c + n, ldc, add); break;
            case 1: panel<1>(M, a, row, step, b + n, ldb, K2, c + n, ldc, add); break;
        }
    }
}

// y (T, N) = x (T, K) w, with w packed in pairs of its rows.
void times(int64_t T, int64_t N, int64_t K, const bf* x, int64_t ldx, const u32* w, int64_t ldw, float* y, int64_t ldy, bool add = false) {
    product(T, N, K / 2, (const pair*)x, ldx / 2, 1, w, ldw, y, ldy, add);
}

// dw (K, N) += x^T dy over T rows, both interleaved.
void outer(int64_t T, int64_t K, int64_t N, const u32* x, int64_t ldx, const u32* dy, int64_t ldy, float* dw, int64_t ldw) {
    product(K, N, (T + 1) / 2, x, 1, ldx, dy, ldy, dw, ldw, true);
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

// y = LN(x + r); keeps the normalized values and 1 / std. Rows of d. Without a gain g there is no norm: y = x + r.
void norm(const float* x, int64_t ldx, const float* r, int64_t rows, int64_t d, const float* g, const float* b, float* hat, float* rstd, float* y, bf* yb) {
    for (int64_t t = 0; t < rows; t++) {
        const float *p = x + t * ldx, *q = r + t * d;
        float *h = hat + t * d, *o = y + t * d;
        if (!g) {
            for (int64_t i = 0; i < d; i += 16) {
                __m512 z = _mm512_add_ps(_mm512_loadu_ps(p + i), _mm512_loadu_ps(q + i));
                _mm512_storeu_ps(o + i, z);
                _mm256_storeu_si256((__m256i*)(yb + t * d + i), (__m256i)_mm512_cvtneps_pbh(z));
            }
            continue;
        }
        __m512 s = _mm512_setzero_ps(), s2 = s;
        for (int64_t i = 0; i < d; i += 16) {
            __m512 z = _mm512_add_ps(_mm512_loadu_ps(p + i), _mm512_loadu_ps(q + i));
            _mm512_storeu_ps(h + i, z);
            s = _mm512_add_ps(s, z);
        }
        __m512 mean = _mm512_set1_ps(sum(s) / d);
        for (int64_t i = 0; i < d; i += 16) {
            __m512 z = _mm512_sub_ps(_mm512_loadu_ps(h + i), mean);
            s2 = _mm512_fmadd_ps(z, z, s2);
        }
        float inv = 1.f / std::sqrt(sum(s2) / d + 1e-5f);
        rstd[t] = inv;
        __m512 scale = _mm512_set1_ps(inv);
        for (int64_t i = 0; i < d; i += 16) {
            __m512 z = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(h + i), mean), scale);
            _mm512_storeu_ps(h + i, z);
            z = _mm512_fmadd_ps(z, _mm512_loadu_ps(g + i), _mm512_loadu_ps(b + i));
            _mm512_storeu_ps(o + i, z);
            _mm256_storeu_si256((__m256i*)(yb + t * d + i), (__m256i)_mm512_cvtneps_pbh(z));
        }
    }
}

// In place: dy to the gradient of LN's argument; adds to the gradients of gain and shift.
void norm_back(float* dy, const float* hat, const float* rstd, int64_t rows, int64_t d, const float* g, float* dg, float* db, bf* dzb) {
    if (!g) return to_bf(dy, dzb, rows * d);
    for (int64_t t = 0; t < rows; t++) {
        float* p = dy + t * d;
        const float* h = hat + t * d;
        __m512 s = _mm512_setzero_ps(), sh = s;
        for (int64_t i = 0; i < d; i += 16) {
            __m512 y = _mm512_loadu_ps(p + i), z = _mm512_loadu_ps(h + i);
            _mm512_storeu_ps(dg + i, _mm512_fmadd_ps(y, z, _mm512_loadu_ps(dg + i)));
            _mm512_storeu_ps(db + i, _mm512_add_ps(y, _mm512_loadu_ps(db + i)));
            y = _mm512_mul_ps(y, _mm512_loadu_ps(g + i));
            s = _mm512_add_ps(s, y);
            sh = _mm512_fmadd_ps(y, z, sh);
        }
        __m512 a = _mm512_set1_ps(sum(s) / d), c = _mm512_set1_ps(sum(sh) / d), scale = _mm512_set1_ps(rstd[t]);
        for (int64_t i = 0; i < d; i += 16) {
            __m512 y = _mm512_mul_ps(_mm512_loadu_ps(p + i), _mm512_loadu_ps(g + i));
            y = _mm512_mul_ps(scale, _mm512_sub_ps(_mm512_sub_ps(y, a), _mm512_mul_ps(_mm512_loadu_ps(h + i), c)));
            _mm512_storeu_ps(p + i, y);
            _mm256_storeu_si256((__m256i*)(dzb + t * d + i), (__m256i)_mm512_cvtneps_pbh(y));
        }
    }
}

// Weights (K, N) of single precision, ld apart, as pairs of rows (for x w) and as pairs of columns (for dy w^T).
void pack(const float* w, int64_t K, int64_t N, u32* rows, int64_t ldr, u32* columns, int64_t ldc) {
    for (int64_t k = 0; k < K; k++)
        for (int64_t n = 0; n < N; n++) {
            bf x = to_bf(w[k * N + n]);
            ((bf*)(rows + k / 2 * ldr + n))[k & 1] = x;
            ((bf*)(columns + n / 2 * ldc + k))[n & 1] = x;
        }
}

// Where the parameters of a model are, in the order in which Python passes them.
struct Block {
    int q, k, v, o, g1, b1, g2, b2, w1, w2;
};

struct Plan {
    Shape s;
    int64_t nq, padded, vp;  // columns of Q, K, V side by side; of a row of attention; of the logits
    std::vector<int64_t> size, offset;
    std::vector<Block> blocks;
    int token, position, head, head_bias;
    int64_t total = 0;

    explicit Plan(const Shape& s) : s(s), nq(2 * s.k + s.v), padded((s.length + 15) / 16 * 16), vp((s.vocab + 15) / 16 * 16) {
        token = add(s.vocab * s.d);
        position = add(s.positions * s.d);
        for (int64_t l = 0; l < s.depth; l++) {
            Block b;
            b.q = add(s.d * s.k), b.k = add(s.d * s.k), b.v = add(s.d * s.v), b.o = add(s.v * s.d);
            b.g1 = b.b1 = b.g2 = b.b2 = -1;
            if (s.norm) b.g1 = add(s.d), b.b1 = add(s.d), b.g2 = add(s.d), b.b2 = add(s.d);
            b.w1 = add(s.d * s.f), b.w2 = add(s.f * s.d);
            blocks.push_back(b);
        }
        head = s.head ? add(s.d * s.vocab) : -1;
        head_bias = s.head_bias ? add(s.vocab) : -1;
    }
    int add(int64_t n) {
        size.push_back(n), offset.push_back(total), total += n;
        return (int)size.size() - 1;
    }
};

template <class T>
using Array = std::vector<T>;

// What one thread needs to train one run at a time: packed weights, gradients, and the activations of a chunk.
struct Worker {
    struct Layer {
        Array<u32> qkv, qkv_t, o, o_t, w1, w1_t, w2, w2_t;
        Array<bf> xb, ob, aob, hb;
        Array<float> x, qkv_out, p, hat1, rstd1, ao, hat2, rstd2, dqkv;
    };
    const Plan& plan;
    const Shape& s;
    std::vector<Layer> layers;
    Array<u32> head, head_t, left, right;
    Array<float> grad, dq_alone, dhead, y, wide, dx, dqkv, logits, out;
    Array<bf> outb, lastb, small, wideb, dqkvb, dlb, q_rows;

    explicit Worker(const Plan& plan) : plan(plan), s(plan.s) {
        int64_t T = s.chunk * s.length, d = s.d, nq = plan.nq;
        layers.resize(s.depth);
        for (auto& l : layers) {
            l.qkv.resize(d / 2 * nq), l.qkv_t.resize(nq / 2 * d), l.o.resize(s.v / 2 * d), l.o_t.resize(d / 2 * s.v);
            l.w1.resize(d / 2 * s.f), l.w1_t.resize(s.f / 2 * d), l.w2.resize(s.f / 2 * d), l.w2_t.resize(d / 2 * s.f);
            l.xb.resize(T * d), l.ob.resize(T * s.v), l.aob.resize(T * d), l.hb.resize(T * s.f);
            l.x.resize(T * d), l.qkv_out.resize(T * nq), l.p.resize(T * s.heads * plan.padded);
            l.dqkv.resize(d * nq), l.hat1.resize(T * d), l.hat2.resize(T * d), l.ao.resize(T * d), l.rstd1.resize(T), l.rstd2.resize(T);
        }
        head.assign(d / 2 * plan.vp, 0), head_t.assign(plan.vp / 2 * d, 0);
        int64_t widest = std::max({d, s.f, s.v, nq, plan.vp});
        left.resize((T + 1) / 2 * widest), right.resize((T + 1) / 2 * widest);
        grad.resize(plan.total), dq_alone.resize(d * s.k), dhead.resize(d * plan.vp);
        y.resize(T * std::max(d, s.v)), wide.resize(T * s.f), dx.resize(T * std::max(d, s.v)), dqkv.resize(T * nq), logits.resize(s.chunk * plan.vp);
        out.resize(T * d), outb.resize(T * d), q_rows.resize(s.chunk * s.k), lastb.resize(s.chunk * d);
        small.resize(T * d), wideb.resize(T * s.f), dqkvb.resize(T * nq), dlb.resize(s.chunk * plan.vp);
    }

    void pack_weights(const std::vector<const float*>& w) {
        int64_t d = s.d, nq = plan.nq;
        for (int64_t i = 0; i < s.depth; i++) {
            auto& l = layers[i];
            auto& b = plan.blocks[i];
            pack(w[b.q], d, s.k, l.qkv.data(), nq, l.qkv_t.data(), d);
            pack(w[b.k], d, s.k, l.qkv.data() + s.k, nq, l.qkv_t.data() + s.k / 2 * d, d);
            pack(w[b.v], d, s.v, l.qkv.data() + 2 * s.k, nq, l.qkv_t.data() + s.k * d, d);
            pack(w[b.o], s.v, d, l.o.data(), d, l.o_t.data(), s.v);
            pack(w[b.w1], d, s.f, l.w1.data(), s.f, l.w1_t.data(), d);
            pack(w[b.w2], s.f, d, l.w2.data(), d, l.w2_t.data(), s.f);
        }
        if (s.head) pack(w[plan.head], d, s.vocab, head.data(), plan.vp, head_t.data(), d);
    }

    // Attention of one chunk: reads q, k, v of a layer, keeps the weights, writes the outputs. `only`: the last query alone.
    void attend(Layer& l, int64_t n_seq, bool only) {
        int64_t N = s.length, H = s.heads, nq = plan.nq, dk = s.k / H, dv = s.v / H, P = plan.padded;
        float scale = 1.f / std::sqrt((float)dk);
        alignas(64) float o[512];
        for (int64_t b = 0; b < n_seq; b++)
            for (int64_t h = 0; h < H; h++)
                for (int64_t i = only ? N - 1 : 0; i < N; i++) {
                    const float* q = &l.qkv_out[(b * N + i) * nq + h * dk];
                    float* p = &l.p[((b * N + i) * H + h) * P];
                    int64_t seen = i + 1;
                    for (int64_t j = 0; j < seen; j++) {
                        const float* k = &l.qkv_out[(b * N + j) * nq + s.k + h * dk];
                        float dot = 0;
#pragma omp simd reduction(+ : dot)
                        for (int64_t e = 0; e < dk; e++) dot += q[e] * k[e];
                        p[j] = dot;
                    }
                    softmax(p, seen, P, scale);
                    std::fill(o, o + dv, 0.f);
                    for (int64_t j = 0; j < seen; j++) {
                        const float *v = &l.qkv_out[(b * N + j) * nq + 2 * s.k + h * dv], a = p[j];
#pragma omp simd
                        for (int64_t e = 0; e < dv; e++) o[e] += a * v[e];
                    }
                    to_bf(o, &l.ob[(only ? b : b * N + i) * s.v + h * dv], dv);
                }
    }

    // From the gradient of the outputs (rows of v) to that of q, k, v, in `dqkv`, which is zeroed first.
    void attend_back(const Layer& l, const float* dout, int64_t n_seq, bool only) {
        int64_t N = s.length, H = s.heads, nq = plan.nq, dk = s.k / H, dv = s.v / H, P = plan.padded;
        float scale = 1.f / std::sqrt((float)dk);
        std::fill(dqkv.begin(), dqkv.begin() + n_seq * N * nq, 0.f);
        alignas(64) float ds[512];
        for (int64_t b = 0; b < n_seq; b++)
            for (int64_t h = 0; h < H; h++)
                for (int64_t i = only ? N - 1 : 0; i < N; i++) {
                    const float* p = &l.p[((b * N + i) * H + h) * P];
                    const float* g = dout + (only ? b : b * N + i) * s.v + h * dv;
                    const float* q = &l.qkv_out[(b * N + i) * nq + h * dk];
                    float* dq = &dqkv[(b * N + i) * nq + h * dk];
                    float mean = 0;
                    for (int64_t j = 0; j <= i; j++) {
                        const float *v = &l.qkv_out[(b * N + j) * nq + 2 * s.k + h * dv], a = p[j];
                        float *dvj = &dqkv[(b * N + j) * nq + 2 * s.k + h * dv], dot = 0;
#pragma omp simd reduction(+ : dot)
                        for (int64_t e = 0; e < dv; e++) {
                            dot += g[e] * v[e];
                            dvj[e] += a * g[e];
                        }
                        ds[j] = dot;
                        mean += a * dot;
                    }
                    for (int64_t j = 0; j <= i; j++) {
                        const float* k = &l.qkv_out[(b * N + j) * nq + s.k + h * dk];
                        float *dkj = &dqkv[(b * N + j) * nq + s.k + h * dk], a = p[j] * (ds[j] - mean) * scale;
#pragma omp simd
                        for (int64_t e = 0; e < dk; e++) {
                            dq[e] += a * k[e];
                            dkj[e] += a * q[e];
                        }
                    }
                }
    }

    static const float* gain(const std::vector<const float*>& w, int p) { return p < 0 ? nullptr : w[p]; }

    // Adds the gradients of the sequences [first, first + n) to `grad`; returns the sum of their losses.
    double chunk(const std::vector<const float*>& w, const int64_t* tokens, const int64_t* target, int64_t n) {
        int64_t N = s.length, T = n * N, d = s.d, nq = plan.nq, D = s.depth;
        for (int64_t t = 0; t < T; t++) {
            const float *a = w[plan.token] + tokens[t] * d, *b = w[plan.position] + t % N * d;
            float* x = &layers[0].x[t * d];
#pragma omp simd
            for (int64_t i = 0; i < d; i++) x[i] = a[i] + b[i];
        }
        to_bf(layers[0].x.data(), layers[0].xb.data(), T * d);
        for (int64_t i = 0; i < D; i++) {
            auto& l = layers[i];
            auto& b = plan.blocks[i];
            bool only = i == D - 1;
            int64_t R = only ? n : T;  // rows that go on
            const float* x = only ? &l.x[(N - 1) * d] : l.x.data();
            if (only) {
                times(T, nq - s.k, d, l.xb.data(), d, l.qkv.data() + s.k, nq, l.qkv_out.data() + s.k, nq);
                times(n, s.k, d, &l.xb[(N - 1) * d], N * d, l.qkv.data(), nq, &l.qkv_out[(N - 1) * nq], N * nq);
            } else {
                times(T, nq, d, l.xb.data(), d, l.qkv.data(), nq, l.qkv_out.data(), nq);
            }
            attend(l, n, only);
            times(R, d, s.v, l.ob.data(), s.v, l.o.data(), d, y.data(), d);
            norm(x, only ? N * d : d, y.data(), R, d, gain(w, b.g1), gain(w, b.b1), l.hat1.data(), l.rstd1.data(), l.ao.data(), l.aob.data());
            times(R, s.f, d, l.aob.data(), d, l.w1.data(), s.f, wide.data(), s.f);
#pragma omp simd
            for (int64_t j = 0; j < R * s.f; j++) wide[j] = wide[j] > 0 ? wide[j] : 0;
            to_bf(wide.data(), l.hb.data(), R * s.f);
            times(R, d, s.f, l.hb.data(), s.f, l.w2.data(), d, y.data(), d);
            float* next = only ? out.data() : layers[i + 1].x.data();
            bf* nextb = only ? outb.data() : layers[i + 1].xb.data();
            norm(l.ao.data(), d, y.data(), R, d, gain(w, b.g2), gain(w, b.b2), l.hat2.data(), l.rstd2.data(), next, nextb);
        }

        // The head, the loss, and the gradient of the logits.
        int64_t V = s.vocab, vp = plan.vp;
        double loss = 0;
        if (s.head)
            times(n, vp, d, outb.data(), d, head.data(), vp, logits.data(), vp);
        else
            std::copy(out.begin(), out.begin() + n * d, logits.begin());
        for (int64_t r = 0; r < n; r++) {
            float* z = &logits[r * vp];
            if (s.head_bias)
                for (int64_t j = 0; j < V; j++) z[j] += w[plan.head_bias][j];
            float right_one = z[target[r]];
            loss += softmax(z, V, vp, 1.f) - right_one;
            z[target[r]] -= 1;
            for (int64_t j = 0; j < V; j++) z[j] /= s.batch;
            if (s.head_bias)
                for (int64_t j = 0; j < V; j++) grad[plan.offset[plan.head_bias] + j] += z[j];
        }
        if (s.head) {
            to_bf(logits.data(), dlb.data(), n * vp);
            interleave(outb.data(), n, d, left.data());
            interleave(dlb.data(), n, vp, right.data());
            outer(n, d, vp, left.data(), d, right.data(), vp, dhead.data(), vp);
            times(n, d, vp, dlb.data(), vp, head_t.data(), d, dx.data(), d);
        } else {
            std::copy(logits.begin(), logits.begin() + n * d, dx.begin());
        }

        for (int64_t i = D - 1; i >= 0; i--) {
            auto& l = layers[i];
            auto& b = plan.blocks[i];
            bool only = i == D - 1;
            int64_t R = only ? n : T;
            float* G = grad.data();
            auto at = [&](int p) { return p < 0 ? nullptr : G + plan.offset[p]; };
            norm_back(dx.data(), l.hat2.data(), l.rstd2.data(), R, d, gain(w, b.g2), at(b.g2), at(b.b2), small.data());
            interleave(l.hb.data(), R, s.f, left.data());
            interleave(small.data(), R, d, right.data());
            outer(R, s.f, d, left.data(), s.f, right.data(), d, at(b.w2), d);
            times(R, s.f, d, small.data(), d, l.w2_t.data(), s.f, wide.data(), s.f);
#pragma omp simd
            for (int64_t j = 0; j < R * s.f; j++) wide[j] = l.hb[j] ? wide[j] : 0;
            to_bf(wide.data(), wideb.data(), R * s.f);
            interleave(l.aob.data(), R, d, left.data());
            interleave(wideb.data(), R, s.f, right.data());
            outer(R, d, s.f, left.data(), d, right.data(), s.f, at(b.w1), s.f);
            times(R, d, s.f, wideb.data(), s.f, l.w1_t.data(), d, dx.data(), d, true);  // on top of the residual's gradient
            norm_back(dx.data(), l.hat1.data(), l.rstd1.data(), R, d, gain(w, b.g1), at(b.g1), at(b.b1), small.data());
            interleave(l.ob.data(), R, s.v, left.data());
            interleave(small.data(), R, d, right.data());
            outer(R, s.v, d, left.data(), s.v, right.data(), d, at(b.o), d);
            times(R, s.v, d, small.data(), d, l.o_t.data(), s.v, y.data(), s.v);
            attend_back(l, y.data(), n, only);
            to_bf(dqkv.data(), dqkvb.data(), T * nq);
            interleave(l.xb.data(), T, d, left.data());
            interleave(dqkvb.data(), T, nq, right.data());
            if (only) {  // the rows of q are zero but for the last of each sequence
                outer(T, d, nq - s.k, left.data(), d, right.data() + s.k, nq, l.dqkv.data() + s.k, nq);
                for (int64_t r = 0; r < n; r++) {
                    std::memcpy(&lastb[r * d], &l.xb[(r * N + N - 1) * d], d * sizeof(bf));
                    std::memcpy(&q_rows[r * s.k], &dqkvb[(r * N + N - 1) * nq], s.k * sizeof(bf));
                }
                interleave(lastb.data(), n, d, left.data());
                interleave(q_rows.data(), n, s.k, right.data());
                outer(n, d, s.k, left.data(), d, right.data(), s.k, dq_alone.data(), s.k);
                times(T, d, nq - s.k, dqkvb.data() + s.k, nq, l.qkv_t.data() + s.k / 2 * d, d, y.data(), d);
                times(n, d, s.k, dqkvb.data() + (N - 1) * nq, N * nq, l.qkv_t.data(), d, &y[(N - 1) * d], N * d, true);
                for (int64_t r = 0; r < n; r++) {
                    float *to = &y[(r * N + N - 1) * d], *from = &dx[r * d];
                    for (int64_t e = 0; e < d; e++) to[e] += from[e];
                }
                std::swap(dx, y);
            } else {
                outer(T, d, nq, left.data(), d, right.data(), nq, l.dqkv.data(), nq);
                times(T, d, nq, dqkvb.data(), nq, l.qkv_t.data(), d, dx.data(), d, true);
            }
        }
        for (int64_t t = 0; t < T; t++) {
            float *a = &grad[plan.offset[plan.token] + tokens[t] * d], *b = &grad[plan.offset[plan.position] + t % N * d];
            const float* g = &dx[t * d];
#pragma omp simd
            for (int64_t i = 0; i < d; i++) a[i] += g[i], b[i] += g[i];
        }
        return loss;
    }

    double gradients(const std::vector<const float*>& w, const int64_t* tokens, const int64_t* target) {
        int64_t d = s.d, nq = plan.nq;
        std::fill(grad.begin(), grad.end(), 0.f);
        std::fill(dhead.begin(), dhead.end(), 0.f);
        std::fill(dq_alone.begin(), dq_alone.end(), 0.f);
        for (auto& l : layers) std::fill(l.dqkv.begin(), l.dqkv.end(), 0.f);
        pack_weights(w);
        double loss = 0;
        for (int64_t first = 0; first < s.batch; first += s.chunk)
            loss += chunk(w, tokens + first * s.length, target + first, std::min(s.chunk, s.batch - first));
        for (int64_t i = 0; i < s.depth; i++) {  // take apart what was computed side by side
            auto& b = plan.blocks[i];
            for (int64_t r = 0; r < d; r++) {
                const float *from = &layers[i].dqkv[r * nq], *q = i == s.depth - 1 ? &dq_alone[r * s.k] : from;
                std::memcpy(&grad[plan.offset[b.q] + r * s.k], q, s.k * sizeof(float));
                std::memcpy(&grad[plan.offset[b.k] + r * s.k], from + s.k, s.k * sizeof(float));
                std::memcpy(&grad[plan.offset[b.v] + r * s.v], from + 2 * s.k, s.v * sizeof(float));
            }
        }
        for (int64_t r = 0; r < d && s.head; r++) std::memcpy(&grad[plan.offset[plan.head] + r * s.vocab], &dhead[r * plan.vp], s.vocab * sizeof(float));
        return loss / s.batch;
    }

    // AdamW with clipping, as lib/core/optim.py.
    void update(float* const* w, float* const* m, float* const* v, double rate, double decay, int64_t count, double max_norm) {
        double squares = 0;
        for (size_t p = 0; p < plan.size.size(); p++) {
            float part = 0;
            const float* g = &grad[plan.offset[p]];
#pragma omp simd reduction(+ : part)
            for (int64_t i = 0; i < plan.size[p]; i++) part += g[i] * g[i];
            squares += part;
        }
        float scale = (float)(max_norm / (std::sqrt(squares) + 1e-6));
        if (scale > 1) scale = 1;  // a NaN goes on
        float step = (float)(rate / (1 - std::pow(0.9, (double)count))), keep = 1 - (float)(rate * decay);
        float root = 1.f / (float)std::sqrt(1 - std::pow(0.999, (double)count));
        for (size_t p = 0; p < plan.size.size(); p++) {
            const float* g = &grad[plan.offset[p]];
            float *a = w[p], *b = m[p], *c = v[p];
#pragma omp simd
            for (int64_t i = 0; i < plan.size[p]; i++) {
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
    static_assert(sizeof s == 14 * sizeof(int64_t));
    std::memcpy(&s, numbers, sizeof s);
    return s;
}

}  // namespace

extern "C" {

// Can this program train the shape? What is multiplied must come in whole vectors, but for the vocabulary.
int64_t rm_trains(const int64_t* shape) {
    Shape s = shape_of(shape);
    for (int64_t n : {s.d, s.f, s.k, s.v})
        if (n % 16) return 0;
    if (!s.head && s.vocab != s.d) return 0;
    return s.k % s.heads == 0 && s.v % s.heads == 0 && s.k <= 512 * s.heads && s.v <= 512 * s.heads && s.length <= 512;
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
        size_t P = plan.size.size();
        std::vector<const float*> now(P);
        std::vector<float*> ww(P), mm(P), vv(P);
        for (int64_t i; (i = next++) < n;) {
            int64_t r = active[i];
            for (size_t p = 0; p < P; p++) {
                now[p] = ww[p] = w[p] + r * plan.size[p];
                if (!gradients) mm[p] = m[p] + r * plan.size[p], vv[p] = v[p] + r * plan.size[p];
            }
            loss[r] = (float)worker.gradients(now, tokens + r * s.batch * s.length, target + r * s.batch);
            if (gradients)
                std::memcpy(gradients + r * plan.total, worker.grad.data(), plan.total * sizeof(float));
            else
                worker.update(ww.data(), mm.data(), vv.data(), rate[r], decay[r], count[r], max_norm);
        }
    };
    std::vector<std::thread> others;
    for (size_t t = 1; t < engine->workers.size() && (int64_t)t < n; t++) others.emplace_back(work, std::ref(*engine->workers[t]));
    work(*engine->workers[0]);
    for (auto& t : others) t.join();
}
}
