// Scenes with one mistake each and what the message must contain. Used on the library and on the command line.
#pragma once

#include <string>
#include <vector>

namespace scree {

struct MalformedScene {
  const char* name;
  std::string text;
  const char* expected;  // in the message, after the file's name
};

inline std::vector<MalformedScene> malformed_scenes() {
  const std::string head = "model = \"pendulum.urdf\"\nduration = 1\n";    // 2 lines
  const std::string joints = "model = \"joints.urdf\"\nduration = 0.1\n";  // 2 lines
  const std::string deep(100000, '[');
  const std::string block = "model = \"block.urdf\"\nduration = 0.1\n";      // 2 lines
  const std::string plane = block + "[[environment]]\nshape = \"plane\"\n";  // 4 lines
  const std::string box = block + "[[environment]]\nshape = \"box\"\n",
                    slope = block + "[[environment]]\nshape = \"slope\"\n";
  const std::string stairs =
      block + "[[environment]]\nshape = \"stairs\"\nrise = 0.1\ntread = 0.3\nwidth = 1\n";  // 7 lines
  const std::string field = block + "[[environment]]\nshape = \"height-field\"\n";
  std::string endless_key = "a";
  for (int k = 0; k < 1000000; ++k) endless_key += ".a";
  return {
      {"empty", "", ": required key \"model\" is missing"},
      {"no_duration", "model = \"pendulum.urdf\"\n", ": required key \"duration\" is missing"},
      {"syntax", head + "[step\n", ":3:6: "},
      {"duplicate_key", head + "duration = 2\n", ":3:"},
      {"binary_garbage", std::string("\x00\xff\xfe\x01\x80scree", 10), ":1:"},
      {"invalid_utf8", head + "title = \"\xff\"\n", ":3:"},
      {"deep_arrays", head + "title = " + deep, ":3:"},
      {"endless_key", head + "[" + endless_key + "]\n", ":3: a key has more than 32 parts"},
      {"endless_quoted_key", head + "'''\"'''\"\"." + endless_key + " = 1\n", ":3: a key has more than 32 parts"},
      {"unknown_key", head + "duratoin = 2\n", ":3: duratoin: unknown key, did you mean \"duration\"?"},
      {"key_with_line_break", head + "\"a\\nb\" = 2\n", ":3: a"},
      {"model_missing", "model = \"none.urdf\"\nduration = 1\n", ":1: model: no such file"},
      {"model_name_too_long", "duration = 1\nmodel = \"" + std::string(300, 'x') + "\"\n", ":2: model: no such file"},
      {"search_path_too_long", head + "search_path = [\"" + std::string(300, 'x') + "\"]\n",
       ":3: search_path: no such"},
      {"model_is_number", "model = 3\nduration = 1\n", ":1: model: 3, expected a string"},
      {"model_is_directory", "model = \".\"\nduration = 1\n", "is a directory"},
      {"title_too_long", head + "title = \"" + std::string(300, 'x') + "\"\n", ":3: title: 300 bytes long"},
      {"title_control", head + "title = \"\\u001b[2J\"\n", ":3: title: "},
      {"search_path_string", head + "search_path = \"x\"\n", ":3: search_path: \"x\", expected an array of strings"},
      {"search_path_missing", head + "search_path = [\"x\"]\n", ":3: search_path: no such directory \"x\""},
      {"base_unknown", head + "base = \"flying\"\n", ":3: base: \"flying\", expected fixed, planar or floating"},
      {"repair_number", head + "repair_inertia = 1\n", ":3: repair_inertia: 1, expected true or false"},
      {"duration_zero", "model = \"pendulum.urdf\"\nduration = 0\n", ":2: duration: 0, expected > 0"},
      {"duration_nan", "model = \"pendulum.urdf\"\nduration = nan\n", ":2: duration: nan, expected a finite number"},
      {"duration_huge", "model = \"pendulum.urdf\"\nduration = 1e308\n", ":2: duration: 1e+308, expected"},
      {"duration_date", "model = \"pendulum.urdf\"\nduration = 2020-01-01\n", ":2: duration: a date or time, expected"},
      {"too_many_steps", "model = \"pendulum.urdf\"\nduration = 1e9\n", "takes 1e+11 steps, expected at most 1e+08"},
      {"dt_negative", head + "[step]\ndt = -0.01\n", ":4: step.dt: step: dt is -0.01, expected"},
      {"dt_string", head + "[step]\ndt = \"10 ms\"\n", ":4: step.dt: \"10 ms\", expected a number"},
      {"dt_beyond_duration", head + "[step]\ndt = 2\n", "dt is 2 s, expected > 0 and at most the duration 1 s"},
      {"step_not_table", head + "step = 3\n", ":3: step: 3, expected a table"},
      {"step_unknown", head + "[step]\ngravty = [0, 0, 0]\n",
       ":4: step.gravty: unknown key, did you mean \"gravity\"?"},
      {"integrator", head + "[step]\nintegrator = \"euler\"\n", ":4: step.integrator: integrator \"euler\" is unknown"},
      {"gravity_length", head + "[step]\ngravity = [0, -9.81]\n",
       ":4: step.gravity: an array of 2, expected an array of 3"},
      {"gravity_text", head + "[step]\ngravity = [0, 0, \"g\"]\n", ":4: step.gravity: \"g\", expected a number"},
      {"tolerance", head + "[step]\ntolerance = 0\n", ":4: step.tolerance: step: tolerance is 0, expected"},
      {"iterations_float", head + "[step]\nmax_iterations = 1.5\n", ":4: step.max_iterations: 1.5, expected a whole"},
      {"iterations_huge", head + "[step]\nmax_iterations = 9000000000\n",
       ":4: step.max_iterations: 9000000000, expected"},
      {"halvings", head + "[step]\nmax_halvings = -1\n", ":4: step.max_halvings: step: max_halvings is -1, expected"},
      {"max_turn", head + "[step]\nmax_turn = 1.5\n", ":4: step.max_turn: step: max_turn is 1.5, expected"},
      {"joint_unknown", head + "[initial.position]\nsholder = 1\n",
       ":4: initial.position.sholder: model pendulum: no joint \"sholder\", did you mean \"shoulder\"?"},
      {"initial_unknown", head + "[initial.speed]\nshoulder = 1\n", ":3: initial.speed: unknown key"},
      {"position_array", head + "[initial.position]\nshoulder = [1]\n",
       ":4: initial.position.shoulder: an array of 1, expected a number"},
      {"position_infinite", head + "[initial.position]\nshoulder = inf\n",
       ":4: initial.position.shoulder: inf, expected"},
      {"quaternion_not_unit", joints + "[initial.position]\nshoulder = [1, 1, 0, 0]\n",
       ":4: initial.position.shoulder: joint shoulder: quaternion"},
      {"quaternion_short", joints + "[initial.position]\nshoulder = [1, 0, 0]\n",
       ":4: initial.position.shoulder: an array of 3, expected an array of 4 numbers"},
      {"velocity_long", joints + "[initial.velocity]\nbase = [1, 0, 0, 0, 0, 0, 0]\n",
       ":4: initial.velocity.base: an array of 7, expected an array of 6 numbers"},
      {"gain_negative", head + "[control]\nkp = -1\n", ":4: control.kp: control of joint shoulder: kp is -1, expected"},
      {"control_unknown", head + "[control]\nki = 1\n", ":4: control.ki: unknown key, did you mean \"k"},
      {"control_joint_unknown", head + "[control.joint.elbow]\nkp = 1\n", ":3: control.joint.elbow: model pendulum"},
      {"control_joint_key", head + "[control.joint.shoulder]\ntarget_speed = 1\n",
       ":4: control.joint.shoulder.target_speed: unknown key"},
      {"control_of_base", joints + "[control.joint.base]\nkp = 1\n",
       ":3: control.joint.base: a floating joint takes no control"},
      {"torque_beyond_effort", head + "[control.joint.shoulder]\ntorque = 6\n",
       ":4: control.joint.shoulder.torque: control of joint shoulder: torque is 6, expected at most the joint's effort "
       "5"},
      {"target_quaternion", joints + "[control.joint.shoulder]\ntarget = [0, 0, 0, 0]\n",
       ":4: control.joint.shoulder.target: joint shoulder: quaternion"},

      {"dt_zero", plane + "[step]\ndt = 0\n", ":6: step.dt: step: dt is 0, expected"},
      {"dt_nan", plane + "[step]\ndt = nan\n", ":6: step.dt: nan, expected a finite number"},
      {"dt_long", plane + "[step]\ndt = 10.5\n", ":6: step.dt: step: dt is 10.5, expected a number in [1e-9, 10] s"},
      {"dissipation", plane + "[step]\ndissipation = \"most\"\n",
       ":6: step.dissipation: dissipation \"most\" is unknown, expected one of: contact, total"},
      {"max_outer", plane + "[step]\nmax_outer = 0\n", ":6: step.max_outer: step: max_outer is 0, expected"},
      {"explicit_pd", plane + "[step]\nexplicit_pd = 1\n", ":6: step.explicit_pd: 1, expected true or false"},
      {"integrator_without_contact", plane + "[step]\nintegrator = \"pbd\"\n",
       ":3: environment: integrator \"pbd\" knows no contact, expected one of: ne-mdp, ne-nmdp, ne-zonmdp, pbd-nmdp"},
      {"nothing_to_touch_with", head + "[[environment]]\nshape = \"plane\"\n",
       ":3: environment: model pendulum has no point to touch it with"},
      {"no_named_points", plane + "[contact]\npoints = \"named\"\n", ":3: environment: model block has no point"},

      {"contact_not_table", block + "contact = 3\n", ":3: contact: 3, expected a table"},
      {"contact_unknown", plane + "[contact]\nmu = 0.5\n", ":6: contact.mu: unknown key, did you mean"},
      {"law_unknown", plane + "[contact]\nlaw = \"glue\"\n",
       ":6: contact.law: \"glue\", expected coulomb, granular or patch"},
      {"granular_without_table", plane + "[contact]\nlaw = \"granular\"\n", "contact.table: required key is missing"},
      {"granular_no_file", plane + "[contact]\nlaw = \"granular\"\ntable = \"sand.csv\"\n",
       ":7: contact.table: no such file"},
      {"points_unknown", plane + "[contact]\npoints = \"none\"\n",
       ":6: contact.points: \"none\", expected automatic, named, shapes or all"},
      {"stiffness_zero", plane + "[contact]\nstiffness = 0\n",
       ":6: contact.stiffness: contact: stiffness is 0, expected"},
      {"stiffness_negative", plane + "[contact]\nstiffness = -1e4\n", ":6: contact.stiffness: contact: stiffness is -"},
      {"stiffness_infinite", plane + "[contact]\nstiffness = inf\n",
       ":6: contact.stiffness: inf, expected a finite number of at most 1e+30"},
      {"stiffness_and_depth", plane + "[contact]\nstiffness = 1e4\ndepth = 0.01\n",
       ":6: contact.stiffness: given together with depth, expected one of them"},
      {"friction_negative", plane + "[contact]\nfriction = -0.1\n",
       ":6: contact.friction: contact: friction is -0.1, expected"},
      {"friction_nan", plane + "[contact]\nfriction = nan\n", ":6: contact.friction: nan, expected a finite number"},
      {"directions_none", plane + "[contact]\ndirections = 0\n", ":6: contact.directions: contact: directions is 0"},
      {"directions_two", plane + "[contact]\ndirections = 2\n", ":6: contact.directions: contact: directions is 2"},
      {"directions_float", plane + "[contact]\ndirections = 4.5\n", ":6: contact.directions: 4.5, expected a whole"},
      {"exponent", plane + "[contact]\nexponent = 1\n", ":6: contact.exponent: contact: exponent is 1, expected"},
      {"depth_zero", plane + "[contact]\ndepth = 0\n", ":6: contact.depth: contact: depth is 0, expected"},
      {"depth_nan", plane + "[contact]\ndepth = -nan\n", ":6: contact.depth: "},
      {"air_force", plane + "[contact]\nair_force = -1\n", ":6: contact.air_force: contact: air_force is -1, expected"},

      {"environment_table", block + "[environment]\nshape = \"plane\"\n",
       ":3: environment: a table, expected tables headed [[environment]]"},
      {"environment_numbers", block + "environment = [1, 2]\n", ":3: environment: 1, expected a table"},
      {"shape_missing", block + "[[environment]]\nname = \"floor\"\n",
       ":3: environment[0].shape: required key is missing"},
      {"shape_unknown", plane + "[[environment]]\nshape = \"hill\"\n",
       ":6: environment[1].shape: \"hill\", expected plane, slope, box, stairs or height-field"},
      {"plane_unknown", plane + "nromal = [0, 0, 1]\n",
       ":5: environment[0].nromal: unknown key, did you mean \"normal\"?"},
      {"plane_normal", plane + "normal = [0, 0, 0]\n",
       ":5: environment[0].normal: plane: normal is (0, 0, 0), expected"},
      {"plane_point", plane + "point = [0, 0, nan]\n", ":5: environment[0].point: nan, expected a finite number"},
      {"plane_name", plane + "name = 3\n", ":5: environment[0].name: 3, expected a string"},
      {"slope_without_angle", slope, ":3: environment[0].angle: required key is missing"},
      {"slope_upright", slope + "angle = 1.6\n", ":5: environment[0].angle: 1.6, expected a number in [-1.5, 1.5] rad"},
      {"slope_heading", slope + "angle = 0.1\nheading = inf\n", ":6: environment[0].heading: inf, expected"},
      {"box_without_size", box, ":3: environment[0].size: required key is missing"},
      {"box_flat", box + "size = [1, 0, 1]\n", ":5: environment[0].size: 0, expected at least 1e-6 m"},
      {"box_turned_twice", box + "size = [1, 1, 1]\nrpy = [0, 0, 0]\nquaternion = [1, 0, 0, 0]\n",
       ":7: environment[0].quaternion: given together with rpy"},
      {"box_quaternion", box + "size = [1, 1, 1]\nquaternion = [1, 1, 0, 0]\n",
       ":6: environment[0].quaternion: has length 1.414"},
      {"stairs_none", stairs + "steps = 0\n", ":8: environment[0].steps: stairs: steps is 0, expected"},
      {"stairs_float", stairs + "steps = 2.5\n", ":8: environment[0].steps: 2.5, expected a whole number"},
      {"stairs_landing", stairs + "steps = 2\nlanding = -1\n", ":9: environment[0].landing: -1, expected at least"},
      {"field_missing", field + "file = \"none.csv\"\nspacing = 1\n", ":5: environment[0].file: no such file"},
      {"field_format", field + "file = \"block.urdf\"\nspacing = 1\nlow = 0\nhigh = 1\n",
       "height field format \".urdf\" is not supported"},
      {"field_spacing", field + "file = \"terrain.csv\"\nspacing = 0\n",
       ":6: environment[0].spacing: 0, expected at least 1e-6 m"},
      {"field_low", field + "file = \"terrain.csv\"\nspacing = 1\nlow = 0\n",
       ":7: environment[0].low: a .csv file has"},
      {"field_holes", field + "file = \"holes.csv\"\nspacing = 0.1\n",
       "holes.csv:3: cell 2 is empty, expected a height"},
  };
}

}  // namespace scree
