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
