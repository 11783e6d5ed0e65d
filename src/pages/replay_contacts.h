// The contact part of a replay: the ground, the points, forces by frame, how the base moved.
#pragma once

#include <string>
#include <vector>

#include "pages/array_block.h"
#include "scree/run.h"

namespace scree {

// Height fields are sampled more coarsely when all together take more than `most_bytes`; `note` then says so.
nlohmann::json describe_environment(const std::vector<Collider>& colliders, ArrayBlock& block, size_t most_bytes,
                                    std::string& note);
// Name, body and place of the colliders of bodies.
nlohmann::json describe_contact_points(const std::vector<Collider>& colliders);
nlohmann::json add_contact_frames(const Run& run, const std::vector<size_t>& rows, ArrayBlock& block);
size_t contact_frame_bytes(const Run& run);  // [byte] of the frame with most contacts

// Of the first body, if its joint to the world is floating or planar.
struct BaseMotion {
  bool exists = false;
  std::vector<float> height;  // [m] world z
  std::vector<float> travel;  // [m] along world x since the start
  std::vector<float> tilt;    // [rad] between body z and world z; of a planar base its angle
};
BaseMotion base_motion(const Model& model, const Run& run, const std::vector<size_t>& rows);

}  // namespace scree
