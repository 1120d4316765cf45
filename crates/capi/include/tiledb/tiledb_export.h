/* What stands before and behind declarations. Only TILEDB_WARN_DEPRECATED makes compilers warn. */
#ifndef SMALTI_TILEDB_EXPORT_H
#define SMALTI_TILEDB_EXPORT_H

#if defined(_WIN32)
#define SMALTI_TILEDB_VISIBLE __declspec(dllimport)
#elif defined(__GNUC__)
#define SMALTI_TILEDB_VISIBLE __attribute__((visibility("default")))
#else
#define SMALTI_TILEDB_VISIBLE
#endif

#ifndef TILEDB_EXPORT
#define TILEDB_EXPORT SMALTI_TILEDB_VISIBLE
#endif

#ifndef TILEDB_NO_EXPORT
#define TILEDB_NO_EXPORT
#endif

#ifndef TILEDB_DEPRECATED
#if defined(TILEDB_WARN_DEPRECATED) && defined(__GNUC__)
#define TILEDB_DEPRECATED __attribute__((deprecated))
#else
#define TILEDB_DEPRECATED
#endif
#endif

#ifndef TILEDB_DEPRECATED_EXPORT
#define TILEDB_DEPRECATED_EXPORT TILEDB_EXPORT TILEDB_DEPRECATED
#endif

#ifndef TILEDB_DEPRECATED_NO_EXPORT
#define TILEDB_DEPRECATED_NO_EXPORT TILEDB_NO_EXPORT TILEDB_DEPRECATED
#endif

#ifndef TILEDB_NOEXCEPT
#ifdef __cplusplus
#define TILEDB_NOEXCEPT noexcept
#else
#define TILEDB_NOEXCEPT
#endif
#endif

#endif
