/* The release of libtiledb whose interface this is. */
#ifndef SMALTI_TILEDB_VERSION_H
#define SMALTI_TILEDB_VERSION_H

#define TILEDB_VERSION_MAJOR 2
#define TILEDB_VERSION_MINOR 30
#define TILEDB_VERSION_PATCH 0

#endif
