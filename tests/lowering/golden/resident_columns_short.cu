// v2 = subtract(x0, r0) : float32
// v3 = exp(v2) : float32
// v5 = divide(v3, r1) : float32
// r0 = max(x0) : float32
// r1 = sum(v3) : float32
// y0 = v5 : float32
struct R0 {
  XP_STEP float step(float a, float b) { return xp_maximum(a, b); }
};

struct R1 {
  XP_STEP float step(float a, float b) { return xp_add(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_1 = (idx)w[4];
  float* const q0 = (float*)w[5];
  const idx b0_1 = (idx)w[7];
  const idx n = n1;
  const idx unit = (idx)blockIdx.x * 256 + threadIdx.x;
  if (unit >= n0) return;
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0);
  const auto y0 = q0 + (i0);
  float a3[32];
  float total0;
  for (int r = 0; r < (int)n; ++r) {
    uidx rest1_2 = (uidx)(r);
    const idx i1 = (idx)rest1_2;
    const float x0 = k0[i1 * a0_1];
    total0 = r == 0 ? x0 : R0::step(total0, x0);
  }
  const float r0 = total0;
  float total1;
  for (int r = 0; r < (int)n; ++r) {
    uidx rest1_2 = (uidx)(r);
    const idx i1 = (idx)rest1_2;
    const float x0 = k0[i1 * a0_1];
    const float v2 = xp_subtract(x0, r0);
    const float v3 = xp_exp(v2);
    a3[r] = v3;
    total1 = r == 0 ? v3 : R1::step(total1, v3);
  }
  const float r1 = total1;
  for (int r = 0; r < (int)n; ++r) {
    uidx rest1_2 = (uidx)(r);
    const idx i1 = (idx)rest1_2;
    const float v3 = a3[r];
    const float v5 = xp_divide(v3, r1);
    y0[i1 * b0_1] = v5;
  }
}
