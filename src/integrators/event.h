// Scratch of `event`.
#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "math/spatial.h"
#include "scree/event.h"
#include "scree/state.h"
#include "scree/world.h"

namespace scree {

// A pair that lasts, at the start of a step: its tangents, and how the surface point moves along normal and tangents.
struct LastingPair {
  int pair;
  V3<double> tangent[2];
  double u[3];  // [m/s]
};

// What a first pass came to, and at what velocity the second one took its forces.
struct LastingPass {
  Eigen::VectorXd v_middle, v_end, v_forces;
};

struct EventScratch {
  EventScratch(const Model& model, const World& world);

  // A pair of point and solid at a state.
  struct Pair {
    V3<double> u = {0, 0, 0};  // [m/s] of the point
    bool near = false;         // false: too far away to matter, nothing below is meant
    double gap = 0;            // [m]
    double rate = 0;           // [m/s] of the gap
    double lever = 0;          // [m] from the root of the model
  };
  double on_surface = 0;                 // [m] gaps of lasting contacts are smaller
  double rounding = 0;                   // [m] of gaps
  std::vector<Pair> now, then;           // by pair: at the state, and at the end of what is being tried
  std::vector<int> now_near, then_near;  // the pairs that are near there
  std::vector<int> active;               // pairs that last: closed, neither parting nor meeting
  std::vector<LastingPair> lasting;      // of active ones, at the state
  std::vector<LastingPair> lasting_end;  // likewise, where a first pass ended
  LastingPass first;
  std::vector<char> lasts;                 // by pair
  std::vector<char> pushed, sticks;        // by pair, of active ones in the try at hand: bore a force; did not slip
  std::vector<std::array<double, 3>> hit;  // by pair: times of the last impacts, newest first; NaN: none
  double seen = 0;                         // [s] until when `hit` tells
  State trial, middle;                     // middle: of a step with lasting contacts

  // flight
  Eigen::MatrixXd q_rate, v_rate;  // one column per stage
  Eigen::VectorXd q_error, v_error;
  Eigen::VectorXd v_start;              // of joints that dry friction holds zero
  double mode_start = 0, mode_end = 0;  // how far from the end of a mode of friction: Stiction::margin

  // projections, of any number of rows
  using Dense = Eigen::Map<Eigen::MatrixXd>;
  void reserve(Eigen::Index nv, Eigen::Index m);
  Dense J(Eigen::Index nv, Eigen::Index m) { return {J_.data(), nv, m}; }  // rows of the Jacobian, as columns
  Dense Y(Eigen::Index nv, Eigen::Index m) { return {Y_.data(), nv, m}; }  // M^-1 J
  Dense W(Eigen::Index m) { return {W_.data(), m, m}; }                    // J^T M^-1 J
  Eigen::VectorXd excess, impulse;                                         // by row
  struct Row {
    int pair, direction;  // 0: the normal, 1, 2: tangents
  };
  std::vector<Row> rows;
  std::vector<int> changed;  // pairs

 private:
  Eigen::VectorXd J_, Y_, W_;
};

}  // namespace scree
