# find_package(TileDB): smalti with the C interface of libtiledb.
#
# Targets are TileDB::tiledb and TileDB::tiledb_shared, which are one library. All paths follow from where this file lies, so that the
# folder can be moved.
get_filename_component(TileDB_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(TileDB_LIBRARY "${TileDB_PREFIX}/lib/libtiledb.so.2.30")
set(TileDB_INCLUDE_DIR "${TileDB_PREFIX}/include")

foreach(TileDB_PLACE IN ITEMS "${TileDB_LIBRARY}" "${TileDB_INCLUDE_DIR}/tiledb/tiledb.h")
  if(NOT EXISTS "${TileDB_PLACE}")
    set(TileDB_FOUND FALSE)
    set(TILEDB_FOUND FALSE)
    set(TileDB_NOT_FOUND_MESSAGE "${TileDB_PLACE} is not there")
    return()
  endif()
endforeach()

if(NOT TARGET TileDB::tiledb_shared)
  add_library(TileDB::tiledb_shared SHARED IMPORTED)
  set_target_properties(TileDB::tiledb_shared PROPERTIES
    IMPORTED_LOCATION "${TileDB_LIBRARY}"
    IMPORTED_SONAME "libtiledb.so.2.30"
    INTERFACE_INCLUDE_DIRECTORIES "${TileDB_INCLUDE_DIR}")
endif()

if(NOT TARGET TileDB::tiledb)
  add_library(TileDB::tiledb INTERFACE IMPORTED)
  set_target_properties(TileDB::tiledb PROPERTIES INTERFACE_LINK_LIBRARIES TileDB::tiledb_shared)
endif()

set(TileDB_FOUND TRUE)
set(TILEDB_FOUND TRUE)
unset(TileDB_PLACE)
