#include "studies.h"

namespace scree {

const std::vector<Study>& studies() {
  static const std::vector<Study> all = {
      {"nmdp-jump", "Jumping at 5 to 50 ms: stability, torso tilt and height (NMDP paper, Fig. 3 and 4)",
       study_nmdp_jump},
      {"nmdp-stability", "No divergence at 5 to 50 ms: four motions of both robots, every integrator",
       study_nmdp_stability},
      {"nmdp-walk", "Walking at 5 to 50 ms: distance, linearity, spread over the steps (Fig. 5)", study_nmdp_walk},
      {"nmdp-table1", "Agreement of runs of different steps, two robots (Table I)", study_nmdp_table1},
      {"nmdp-cost", "Frame rate, outer iterations, smallest substep at 50 ms (Fig. 6)", study_nmdp_cost},
      {"nmdp-truth", "Every scheme against the converged motion: error by step and by work", study_nmdp_truth},
      {"nmdp-drop", "Robosimian with 34 dofs stands and falls by 0.3 m at 1 to 50 ms", study_nmdp_drop},
      {"nmdp-convergence", "Sliding and dropped box: both discretisations meet as the step shrinks",
       study_nmdp_convergence},
      {"nmdp-accuracy", "Global error and work against the accuracy asked for: 50 scenes drawn from seeds",
       study_nmdp_accuracy},
      {"nmdp-unseen", "The default integrator on 40 motions drawn at random: error at 5 to 50 ms", study_nmdp_unseen},
      {"pbfd-box", "Sliding distance of a box against the friction coefficient (PBFD paper, Fig. 5)", study_pbfd_box},
      {"pbfd-optimizers", "Iterations and time of the optimisers of Table I; steps from random states (Fig. 4)",
       study_pbfd_optimizers},
      {"pbfd-chain", "A chain slides off a slope: stable steps, speed, contacts, friction (PBFD paper, Fig. 6)",
       study_pbfd_chain},
      {"pbfd-batch", "Many trajectories at once: time per step in lanes and threads (PBFD paper, Fig. 8)",
       study_pbfd_batch},
      {"impact-cradle", "Newton's cradles by every elastic law, restitution, inelastic collapse", study_impact_cradle},
      {"impact-rack", "Bernoulli's problem, a rack of balls, stacks of boxes: steps and answers", study_impact_rack},
      {"impact-galperin", "Wedges and the digits of pi: up to 314159 reflections", study_impact_galperin},
      {"impact-certificate", "What is proved about impacts: theorem P and the supplement of 2017",
       study_impact_certificate},
      {"impact-block", "A block dropped flat rests or rocks: all outcomes (dissertation of M. Halm, section 7.5.1)",
       study_impact_block},
      {"impact-compass", "A walker's wide step: three solutions and what lies between (section 7.5.2)",
       study_impact_compass},
      {"impact-boxwall", "A box slides into a wall: outcomes beyond any sequence (section 7.5.3)",
       study_impact_boxwall},
      {"impact-ramone", "A five-link biped takes a step (section 7.5.4)", study_impact_ramone},
      {"impact-disks", "A disk falls on two: five contacts (section 7.5.5)", study_impact_disks},
      {"event-bounce", "A ball bounces and a block rocks to rest: times of infinitely many impacts",
       study_event_bounce},
      {"event-painleve", "Painleve's rod: slides, lift-off, jams, impacts without collision", study_event_painleve},
      {"event-block-fan", "A block dropped flat: all its futures until rest", study_event_block_fan},
      {"event-compass-fan", "A walker's wide step: its futures", study_event_compass_fan},
      {"event-robosimian-step", "Robosimian lands on several feet at once: do its futures meet again?",
       study_event_robosimian_step},
      {"event-agreement", "Impacts at their times against steps of 0.1 ms on stiff ground: dropped boxes, squats",
       study_event_agreement},
      {"event-inclusion", "Impacts with time as a state: the flow of a falling ball (section 7.3, Fig. 7.4)",
       study_event_inclusion},
      {"conservation", "Energy and momentum after 100 s of free flight at 10 and 50 ms, every integrator",
       study_conservation},
  };
  return all;
}

}  // namespace scree
