#include "run/dense_output.h"

#include <cassert>

#include "math/rotation.h"

namespace scree {
namespace {

// J(w)^-T x: the rate of the chart at w of a body that turns with x in its own axes. J^T = 1 - b [w]x + c [w]x^2 has
// the inverse 1 + [w]x / 2 + k [w]x^2 with k = (1 - t cot(t/2) / 2) / t^2, t = |w|.
V3<double> chart_rate(const V3<double>& w, const V3<double>& x) {
  const double s = dot(w, w);
  const auto chart = chart_coefficients(s);                       // a / b = t sin t / (1 - cos t) = t cot(t/2)
  const double k = s < 1e-2 ? 1.0 / 12 + s / 720 + s * s / 30240  // next term s^3/1209600 < 1e-12
                            : (1 - chart.a / (2 * chart.b)) / s;
  const V3<double> wx = cross(w, x);
  return x + 0.5 * wx + k * cross(w, wx);
}

// J(w)^T x = x - b w x x + c w x (w x x)
V3<double> body_rate(const V3<double>& w, const V3<double>& x) {
  const auto chart = chart_coefficients(dot(w, w));
  const V3<double> wx = cross(w, x);
  return x - chart.b * wx + chart.c * cross(w, wx);
}

V3<double> load(const double* x) { return {x[0], x[1], x[2]}; }
void store(const V3<double>& x, double* at) { at[0] = x.x, at[1] = x.y, at[2] = x.z; }

}  // namespace

DenseOutput::DenseOutput(const Model& model)
    : tree_(tree_of(model)), change_(model.nv()), rate0_(model.nv()), rate1_(model.nv()) {}

void DenseOutput::set_step(const State& start, const State& end) {
  assert(end.time > start.time);
  start_time_ = start.time;
  end_time_ = end.time;
  q0_ = start.q;
  q1_ = end.q;
  v0_ = start.v;
  v1_ = end.v;
  rate0_ = v0_;
  rate1_ = v1_;
  for (const Node& node : tree_.nodes) {
    if (node.follows) continue;
    const int vectors = has_chart(node) ? node.nv - 3 : node.nv;  // coordinates before the chart
    for (int k = 0; k < vectors; ++k) change_(node.v_index + k) = q1_(node.q_index + k) - q0_(node.q_index + k);
    if (!has_chart(node)) continue;
    const int q = node.q_index + vectors, v = node.v_index + vectors;
    const V3<double> w = quaternion_log(conjugate(load_quaternion(&q0_(q))) * load_quaternion(&q1_(q)));
    store(w, &change_(v));
    store(chart_rate(w, load(&v1_(v))), &rate1_(v));
  }
}

void DenseOutput::sample(double time, State& out) const {
  assert(time >= start_time_ && time <= end_time_);
  out.time = time;
  out.q = time < end_time_ ? q0_ : q1_;
  out.v = time < end_time_ ? v0_ : v1_;
  if (time <= start_time_ || time >= end_time_) return;
  const double h = end_time_ - start_time_, s = (time - start_time_) / h;
  const double a = s * s * (3 - 2 * s), b = h * s * (1 - s) * (1 - s), c = h * s * s * (s - 1);
  const double da = 6 * s * (1 - s) / h, db = (1 - s) * (1 - 3 * s), dc = s * (3 * s - 2);
  const auto displacement = [&](int k) { return a * change_(k) + b * rate0_(k) + c * rate1_(k); };
  const auto rate = [&](int k) { return da * change_(k) + db * rate0_(k) + dc * rate1_(k); };
  for (const Node& node : tree_.nodes) {
    if (node.follows) continue;
    const int vectors = has_chart(node) ? node.nv - 3 : node.nv;
    for (int k = 0; k < vectors; ++k) {
      out.q(node.q_index + k) = q0_(node.q_index + k) + displacement(node.v_index + k);
      out.v(node.v_index + k) = rate(node.v_index + k);
    }
    if (!has_chart(node)) continue;
    const int q = node.q_index + vectors, v = node.v_index + vectors;
    const V3<double> w = {displacement(v), displacement(v + 1), displacement(v + 2)};
    store_quaternion(normalized(load_quaternion(&q0_(q)) * quaternion_exp(w)), &out.q(q));
    store(body_rate(w, {rate(v), rate(v + 1), rate(v + 2)}), &out.v(v));
  }
}

}  // namespace scree
