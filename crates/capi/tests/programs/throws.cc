// Callbacks that throw: what they say is what the call reports.

#include <tiledb/tiledb.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

// `std::exception` is not at the start of its objects.
struct Mixed : virtual std::runtime_error {
  Mixed() : std::runtime_error("from a class with a virtual base") {}
  long before = 7;
};

struct Other {
  virtual ~Other() = default;
  virtual const char* name() const { return "nobody asks"; }
};

int32_t thrown(const char*, tiledb_object_t, void* data) {
  switch (*static_cast<int*>(data)) {
    case 0: throw std::runtime_error("from a callback");
    case 1: throw Mixed();
    case 2: throw 17;
    case 3: throw Other();
    default: return 0;
  }
}

}  // namespace

int main(int, char** arguments) {
  tiledb_ctx_t* ctx = nullptr;
  tiledb_ctx_alloc(nullptr, &ctx);
  const std::string folder = arguments[1];
  tiledb_group_create(ctx, (folder + "/group").c_str());
  for (int kind = 0; kind < 5; ++kind) {
    const int32_t code = tiledb_object_ls(ctx, folder.c_str(), thrown, &kind);
    const char* message = "";
    tiledb_error_t* error = nullptr;
    tiledb_ctx_get_last_error(ctx, &error);
    if (code != TILEDB_OK) tiledb_error_message(error, &message);
    std::printf("%d: %s\n", code, message);
    tiledb_error_free(&error);
  }
  tiledb_ctx_free(&ctx);
  return 0;
}
