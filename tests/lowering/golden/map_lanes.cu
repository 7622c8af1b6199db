// v2 = _halved(x0, s0) : int64
// v3 = astype(v2) : float64
// v5 = astype(x1) : float64
// v6 = add(v3, v5) : float64
// y0 = v6 : float64
extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const float* const p0 = (const float*)w[2];
  const idx a0_0 = (idx)w[3];
  const float* const p1 = (const float*)w[5];
  double* const q0 = (double*)w[8];
  const idx b0_0 = (idx)w[9];
  const double s0 = xp_scalar<double>(w + 11);
  const idx at = (idx)blockIdx.x * 256 + threadIdx.x;
  if (at >= n0 * n1) return;
  uidx rest0_2 = (uidx)(at);
  const idx i1 = (idx)(rest0_2 % (uidx)n1); rest0_2 /= (uidx)n1;
  const idx i0 = (idx)rest0_2;
  const float x0 = p0[i0 * a0_0 + i1];
  const int64_t v2 = u_f6d0c2af6eff::_halved_0(x0, s0);
  const double v3 = xp_cast<double>(v2);
  const float x1 = p1[i1];
  const double v5 = xp_cast<double>(x1);
  const double v6 = xp_add(v3, v5);
  q0[i0 * b0_0 + i1] = v6;
}
