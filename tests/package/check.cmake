# cmake -P: install scree, build the outside project against it, run it on an installed model.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  message("${output}")
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/package -B ${WORK}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DEXAMPLE=${SOURCE}/examples/read_frame.cpp)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/outside ${WORK}/prefix/share/scree/models/robosimian.urdf)
run(${WORK}/prefix/bin/scree --version)

# The same program without CMake: the compiler and pkg-config.
find_program(PKG_CONFIG pkg-config REQUIRED)
file(GLOB_RECURSE pc ${WORK}/prefix/scree.pc)
get_filename_component(folder "${pc}" DIRECTORY)
function(pkg_config variable)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${PKG_CONFIG} ${ARGN} scree
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE error OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "pkg-config ${ARGN} scree\n${error}")
  endif()
  separate_arguments(output UNIX_COMMAND "${output}")
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
pkg_config(version --modversion)
pkg_config(cflags --cflags)
pkg_config(libs --libs)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
run(${COMPILER} -std=c++20 ${flags} ${cflags} ${SOURCE}/examples/build_robot.cpp -o ${WORK}/by-pkg-config ${libs})
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder}/.. ${WORK}/by-pkg-config)
message("pkg-config: scree ${version}")

# The installation works wherever it is moved to, from any folder, with nothing of the source in reach.
file(RENAME ${WORK}/prefix ${WORK}/moved)
file(MAKE_DIRECTORY ${WORK}/elsewhere)
run(${CMAKE_COMMAND} -E chdir ${WORK}/elsewhere ${WORK}/moved/bin/scree study impact-cradle --quick --html study.html)
run(${CMAKE_COMMAND} -E chdir ${WORK}/elsewhere ${WORK}/moved/bin/scree sim
    ${WORK}/moved/share/scree/examples/scenes/pendulum.toml --html replay.html)
file(GLOB scenes ${WORK}/moved/share/scree/examples/scenes/*.toml)
foreach(scene ${scenes})  # with all that they name
  run(${WORK}/moved/bin/scree check ${scene})
endforeach()
