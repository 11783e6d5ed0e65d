# Several source files compiled as one (unity build): Eigen's templates and the headers are then paid for once per unit,
# not once per file, which halves the time of a first build. Edits are slower, so it is an option (SCREE_UNITY), off
# unless make asks for it. A file that no unit names is compiled alone. Files of a unit share one anonymous namespace: a
# name that two of them define is a compile error, and one of the two moves.
function(scree_unit folder name)
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/${folder}/\\1.cpp")
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${name})
endfunction()
function(scree_use_units)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${SCREE_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

scree_unit(src contact contact/candidates contact/contact_set contact/coulomb contact/granular contact/pairs contact/patch
           contact/rigid_contacts contact/smooth
           control/control control/inverse_kinematics control/joint_forces control/motion contact/world geometry/collider)
scree_unit(src dynamics dynamics/discretisation dynamics/dynamics dynamics/kinematics dynamics/state base/files
           geometry/height_field model/model base/names model/tree run/event_file pages/impact_page solvers/lcp_precise
           solvers/simplex_qp solvers/tree_cholesky solvers/tree_lu)
scree_unit(src formats base/atomic_file formats/height_field_file formats/height_field_png
           formats/import_ledger formats/mesh formats/mesh_obj formats/mesh_stl base/text formats/urdf
           formats/urdf_parts formats/urdf_reader formats/urdf_writer formats/xml_element pages/replay_data pages/replay_mesh)
scree_unit(src impact impact/certificate impact/contact_lcp impact/elastic impact/impulse_bound
           impact/outcome_set impact/outcome_setup solvers/lcp_enumerate)
scree_unit(src friction impact/frictional impact/normalised impact/problem impact/resolve impact/routh impact/routh_set
           impact/supplement)
scree_unit(src integrators integrators/contact_scratch integrators/derivatives integrators/energy_account integrators/flight
           integrators/friction integrators/lasting integrators/lcp_scratch integrators/linearised integrators/mdp
           integrators/nmdp integrators/pbfd integrators/residual integrators/rk4 integrators/runge_kutta
           integrators/static_depth integrators/step integrators/step_options integrators/workspace)
scree_unit(src batches run/table run/batch run/batch_file run/batch_run scene/batch_scene run/batch_table
           run/calibration run/fan pages/fan_page run/fan_statistics)
scree_unit(src impacts scene/impact_contacts pages/impact_report scene/impact_scene scene/granular_file scene/motion_file
           run/run_file scene/scene_contact pages/study_page scene/toml_reader)
scree_unit(src runs model/coordinate_names run/dense_output pages/replay pages/replay_contacts
           pages/replay_events run/run run/run_contacts run/run_events scene/scene
           run/seal run/simulation)

scree_unit(apps/scree cli_shared main options terminal interrupt study_verb)
scree_unit(apps/scree cli bench calibrate check convert impact sim_batch sim_fan study_launch verbs view)
