#include "solvers/simplex_qp.h"
#include <algorithm>
#include <cmath>
namespace scree {
void project_capped_simplex(double* w, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::max(0.0, w[i]);
  if (sum <= 1) {
    for (int i = 0; i < n; ++i) w[i] = std::max(0.0, w[i]);
    return;
  }
  double s[64];
  std::copy(w, w + n, s);
  std::sort(s, s + n, [](double a, double b) { return a > b; });
  double c = 0, t = 0;
  for (int i = 0; i < n; ++i) {
    c += s[i];
    double tt = (c - 1) / (i + 1);
    if (s[i] - tt > 0) t = tt;
  }
  for (int i = 0; i < n; ++i) w[i] = std::max(0.0, w[i] - t);
}
SimplexQpReport SimplexQp::solve(int blocks, int bs, const double* Qd, const double* gd, double* wd,
                                 const SimplexQpOptions&) {
  int n = blocks * bs;
  SimplexQpReport r;
  if (n == 0) {
    r.converged = true;
    return r;
  }
  Eigen::Map<const Eigen::MatrixXd> Q(Qd, n, n);
  Eigen::Map<const Eigen::VectorXd> g(gd, n);
  Eigen::Map<Eigen::VectorXd> w(wd, n);
  double L = 0;
  for (int i = 0; i < n; ++i) L = std::max(L, Q.col(i).cwiseAbs().sum());
  if (L == 0) L = 1e-300;
  Eigen::VectorXd y = w, x = w, xn(n), gr(n);
  double t = 1;
  auto proj = [&](Eigen::VectorXd& v) {
    for (int b = 0; b < blocks; ++b) project_capped_simplex(v.data() + b * bs, bs);
  };
  proj(x);
  y = x;
  for (r.iterations = 0; r.iterations < 20000; ++r.iterations) {
    gr = Q * y + g;
    xn = y - gr / L;
    proj(xn);
    if ((xn - y).cwiseAbs().maxCoeff() < 1e-15) {
      x = xn;
      break;
    }
    double tn = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    if (gr.dot(xn - x) > 0) {
      t = 1;
      tn = 1;
      y = xn;
    } else
      y = xn + (t - 1) / tn * (xn - x);
    x = xn;
    t = tn;
  }
  w = x;
  r.converged = true;
  return r;
}
}  // namespace scree
