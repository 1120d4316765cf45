// Every class of the C++ interface: what each area says and reads. No line holds a path or a time.

#include <tiledb/tiledb>
#include <tiledb/tiledb_experimental>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace tiledb;

namespace {

std::string folder;

std::string at(const std::string& name) { return folder + "/" + name; }

// A text in which the folder is called @, so that no line depends on where the program runs, and control characters are ?.
std::string placeless(std::string text) {
  for (const std::string& part : {"file://" + folder, folder}) {
    for (size_t place; (place = text.find(part)) != std::string::npos;) text.replace(place, part.size(), "@");
  }
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' ' && c != '\n'; }, '?');
  return text;
}

void area(const char* name) { std::cout << name << "\n"; }

template <typename T>
void tell(const std::string& what, const T& value) {
  std::ostringstream text;
  text << std::boolalpha << value;
  std::cout << "  " << what << ": " << placeless(text.str()) << "\n";
}

template <typename T>
void tell_all(const std::string& what, const std::vector<T>& values) {
  std::ostringstream text;
  for (const T& value : values) text << (&value == values.data() ? "" : " ") << +value;
  tell(what, text.str());
}

void tell_all(const std::string& what, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "'" : " '") + value + "'";
  tell(what, text);
}

template <typename T>
void tell_pair(const std::string& what, const std::pair<T, T>& pair) {
  std::ostringstream text;
  text << pair.first << " to " << pair.second;
  tell(what, text.str());
}

template <typename T, size_t N>
void tell_range(const std::string& what, const std::array<T, N>& range) {
  std::ostringstream text;
  for (const T& side : range) text << side << ", ";
  tell(what, text.str());
}

// What an exception says, or that there was none.
void tried(const std::string& what, const std::function<void()>& does) {
  try {
    does();
    tell(what, "done");
  } catch (const TypeError& error) {
    tell(what, std::string("TypeError, ") + error.what());
  } catch (const SchemaMismatch& error) {
    tell(what, std::string("SchemaMismatch, ") + error.what());
  } catch (const TileDBError& error) {
    tell(what, std::string("TileDBError, ") + error.what());
  } catch (const std::exception& error) {
    tell(what, std::string("another, ") + error.what());
  }
}

// Whether it is refused, where the engine's own words say more than libtiledb's.
void refused(const std::string& what, const std::function<void()>& does) {
  try {
    does();
    tell(what, "done");
  } catch (const TileDBError&) {
    tell(what, "refused");
  }
}

template <typename T>
std::string told(const T& value) {
  std::ostringstream text;
  text << value;
  return placeless(text.str());
}

// The last part of a path; what is before it, and the times and names of fragments, differ from run to run.
std::string last_part(const std::string& uri) { return uri.substr(uri.rfind('/') + 1); }

const char* word(tiledb_datatype_t type) {
  const char* text = "";
  tiledb_datatype_to_str(type, &text);
  return text;
}

void configs() {
  area("configs");
  Config config;
  config["vfs.s3.region"] = "moon";
  config["sm.tile_cache_size"] = 7;
  config["vfs."]["s3."]["scheme"] = std::string("http");
  config.set("my.key", "mine").set("my.other", "other");
  tell("region", std::string(config["vfs.s3.region"]));
  tell("scheme", config.get("vfs.s3.scheme"));
  tell("contains", config.contains("my.key"));
  tell("contains another", config.contains("my.none"));
  for (auto& [key, value] : std::map<std::string, std::string>(config.begin("my."), config.end())) tell(key, value);
  size_t count = 0, of_stores = 0;
  for (auto entry = config.begin(); entry != config.end(); ++entry) {
    ++count;
    of_stores += entry->first.rfind("vfs.s3.", 0) == 0;
  }
  tell("keys", count);
  tell("keys of S3", of_stores);
  config.unset("my.other").unset("vfs.s3.region");
  tell("default again", config.get("vfs.s3.region"));
  tried("unset", [&] { config.get("my.other"); });
  tried("wrong", [&] { config["sm.io_concurrency_level"] = "many"; });
  config.save_to_file(at("config"));
  Config loaded(at("config"));
  tell("equal", config == loaded);
  loaded["my.key"] = "yours";
  tell("unequal", config != loaded);
  tell("from a map", Config(std::map<std::string, std::string>{{"my.a", "b"}}).get("my.a"));
  tell("from another map", Config(std::unordered_map<std::string, std::string>{{"my.c", "d"}}).get("my.c"));
  tried("no file", [] { Config nothing(at("no-config")); });
}

void contexts() {
  area("contexts");
  Config config;
  config["my.key"] = "mine";
  Context ctx(config);
  tell("configuration", ctx.config().get("my.key"));
  tell("files", ctx.is_supported_fs(TILEDB_MEMFS));
  tell("hdfs", ctx.is_supported_fs(TILEDB_HDFS));
  tell("protocol", static_cast<int>(ctx.data_protocol(at("array"))));
  ctx.set_tag("key", "value");
  ctx.cancel_tasks();
  tell("last error", ctx.get_last_error_message().empty());
  std::string seen;
  ctx.set_error_handler([&](const std::string& text) { seen = text; });
  VFS(ctx).remove_file(at("nothing"));
  tell("handled", seen.rfind("LocalFS", 0) == 0 || !seen.empty());
  ArraySchema nothing(ctx, TILEDB_SPARSE);
  nothing.check();
  tell("handled", seen);
  tell("last error", Error(ctx).error_message());
  tiledb_ctx_t* lent = ctx.ptr().get();
  tell("lent", Context(lent, false).config().get("my.key"));
  tried("null", [] { Context none(nullptr); });
  tried("an array that is not there", [] {
    Context other;
    Array::load_schema(other, at("nothing"));
  });
  const auto [major, minor, patch] = version();
  tell_all("version", std::vector<int>{major, minor, patch});
  tell("as built", AsBuilt::dump().find("\"storage_backends\"") != std::string::npos);
  Stats::enable();
  tell("enabled", Stats::is_enabled());
  std::string text;
  Stats::dump(&text);
  tell("dumped", !text.empty());
  Stats::raw_dump(&text);
  tell("dumped raw", text.rfind("[", 0) == 0);
  tell("of the context", ctx.stats().find("\"timers\"") != std::string::npos);
  Stats::reset();
  Stats::disable();
  tell("enabled", Stats::is_enabled());
}

void profiles() {
  area("profiles");
  // The folder of profiles is named with the slash at its end.
  const std::string place = at("profiles") + "/";
  VFS(Context()).create_dir(place);
  Profile profile("one", place);
  tell("name", profile.name());
  tell("dir", profile.dir());
  profile.set_param("rest.server_address", "https://example.org");
  tell("value", profile.get_param("rest.server_address").value_or("none"));
  tell("no value", profile.get_param("rest.none").value_or("none"));
  profile.save();
  tried("saved twice", [&] { profile.save(); });
  profile.save(true);
  Profile loaded = Profile::load("one", place);
  tell("loaded", loaded.get_param("rest.server_address").value_or("none"));
  tell("dump", loaded.dump());
  Profile::remove("one", place);
  tried("removed", [&] { Profile::load("one", place); });
}

void files() {
  area("files");
  Context ctx;
  VFS vfs(ctx);
  vfs.create_dir(at("dir"));
  vfs.create_dir(at("dir/below"));
  vfs.touch(at("dir/empty"));
  {
    VFS::filebuf buffer(vfs);
    buffer.open(at("dir/file"), std::ios::out);
    std::ostream out(&buffer);
    out << "some text " << 17 << "\nand a line\n";
    out.flush();
    tell("open", buffer.is_open());
    tell("name", last_part(buffer.get_uri()));
    buffer.close();
    tell("open", buffer.is_open());
    buffer.open(at("dir/file"), std::ios::app);
    out << "more";
    out.flush();
    buffer.close();
  }
  {
    VFS::filebuf buffer(vfs);
    buffer.open(at("dir/file"), std::ios::in);
    std::istream in(&buffer);
    std::string text;
    int number = 0;
    in >> text >> text >> number;
    tell("number", number);
    in.seekg(-4, std::ios::end);
    in >> text;
    tell("end", text);
    in.clear();
    in.seekg(5, std::ios::beg);
    std::getline(in, text);
    tell("line", text);
    tell("seek too far", static_cast<long>(buffer.pubseekpos(1000, std::ios::in)));
    tell("next", static_cast<char>(buffer.sgetc()));
    tell("taken", static_cast<char>(buffer.sbumpc()));
    tell("after it", static_cast<char>(buffer.sgetc()));
    tell("left", buffer.in_avail());
    buffer.close();
    tell("of nothing", buffer.open(at("dir/nothing"), std::ios::in) == nullptr);
  }
  tell("size", vfs.file_size(at("dir/file")));
  tell("size of all", vfs.dir_size(at("dir")));
  tell("is a file", vfs.is_file(at("dir/file")));
  tell("is a folder", vfs.is_dir(at("dir/file")));
  vfs.copy_file(at("dir/file"), at("dir/below/copy"));
  vfs.move_file(at("dir/file"), at("dir/moved"));
  std::vector<std::string> names = vfs.ls(at("dir"));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) tell("listed", name);
  auto found = VFSExperimental::ls_recursive_filter_v2(
      ctx, vfs, at("dir"), [](std::string_view, uint64_t, bool is_dir) { return !is_dir; });
  std::sort(found.begin(), found.end());
  for (const auto& [path, size] : found) tell("found", last_part(path) + " " + std::to_string(size));
  tell("all", VFSExperimental::ls_recursive_filter_v2(ctx, vfs, at("dir")).size());
  int calls = 0;
  VFSExperimental::ls_recursive_v2(ctx, vfs, at("dir"), [&](std::string_view, uint64_t, bool) { return ++calls < 2; });
  tell("calls", calls);
  tried("a callback that throws", [&] {
    VFSExperimental::ls_recursive_v2(
        ctx, vfs, at("dir"), [](std::string_view, uint64_t, bool) -> bool { throw std::runtime_error("enough"); });
  });
  tried("no callback", [&] { VFSExperimental::ls_recursive_v2(ctx, vfs, at("dir"), nullptr); });
  vfs.copy_dir(at("dir/below"), at("dir/again"));
  vfs.move_dir(at("dir/again"), at("dir/last"));
  tell("copied and moved", vfs.is_file(at("dir/last/copy")));
  vfs.remove_file(at("dir/moved"));
  vfs.remove_dir(at("dir"));
  tell("is there", vfs.is_dir(at("dir")));
  Config config;
  config["vfs.min_parallel_size"] = 77;
  tell("configuration", std::string(VFS(ctx, config).config()["vfs.min_parallel_size"]));
}

void filters() {
  area("filters");
  Context ctx;
  Filter compressor(ctx, TILEDB_FILTER_ZSTD);
  compressor.set_option(TILEDB_COMPRESSION_LEVEL, 5);
  tell("level", compressor.get_option<int32_t>(TILEDB_COMPRESSION_LEVEL));
  tell("filter", compressor);
  tried("type", [&] { compressor.set_option(TILEDB_COMPRESSION_LEVEL, 5.0); });
  tried("option", [&] { compressor.set_option(TILEDB_BIT_WIDTH_MAX_WINDOW, uint32_t{5}); });
  Filter window(ctx, TILEDB_FILTER_BIT_WIDTH_REDUCTION);
  const uint32_t size = 512;
  window.set_option(TILEDB_BIT_WIDTH_MAX_WINDOW, &size);
  uint32_t set = 0;
  window.get_option(TILEDB_BIT_WIDTH_MAX_WINDOW, &set);
  tell("window", set);
  Filter scale(ctx, TILEDB_FILTER_SCALE_FLOAT);
  scale.set_option(TILEDB_SCALE_FLOAT_FACTOR, 0.5)
      .set_option(TILEDB_SCALE_FLOAT_OFFSET, 2.0)
      .set_option(TILEDB_SCALE_FLOAT_BYTEWIDTH, uint64_t{4});
  tell("factor", scale.get_option<double>(TILEDB_SCALE_FLOAT_FACTOR));
  tell("width", scale.get_option<uint64_t>(TILEDB_SCALE_FLOAT_BYTEWIDTH));
  FilterList list(ctx);
  list.set_max_chunk_size(10000).add_filter(window).add_filter({ctx, TILEDB_FILTER_BITSHUFFLE}).add_filter(compressor);
  tell("chunk", list.max_chunk_size());
  tell("count", list.nfilters());
  tell("list", list);
  tried("index", [&] { list.filter(3); });
  std::string all;
  for (int type = TILEDB_FILTER_NONE; type <= TILEDB_FILTER_DELTA; ++type) {
    all += Filter::to_str(static_cast<tiledb_filter_type_t>(type)) + " ";
  }
  tell("types", all);
}

void schemas() {
  area("schemas");
  Context ctx;
  FilterList list(ctx);
  list.add_filter({ctx, TILEDB_FILTER_GZIP});
  auto row = Dimension::create<int32_t>(ctx, "row", {{1, 100}}, 10);
  auto real = Dimension::create<double>(ctx, "real", {{-1.5, 1.5}}, 0.5);
  auto text = Dimension::create(ctx, "text", TILEDB_STRING_ASCII, nullptr, nullptr);
  auto whole = Dimension::create<uint8_t>(ctx, "whole", {{0, 9}});
  row.set_filter_list(list);
  text.set_cell_val_num(TILEDB_VAR_NUM);
  tell("dimension", row);
  tell("dimension", real);
  tell("dimension", text);
  tell("dimension", whole);
  tell("type", word(real.type()));
  tell("values", text.cell_val_num() == TILEDB_VAR_NUM);
  tell_pair("domain", row.domain<int32_t>());
  tell("extent", real.tile_extent<double>());
  tell("filters", row.filter_list());
  tried("wrong type", [&] { row.domain<int64_t>(); });
  tried("empty domain", [&] { Dimension::create<int32_t>(ctx, "none", {{5, 1}}, 1); });
  tried("long tile", [&] { Dimension::create<int32_t>(ctx, "long", {{1, 5}}, 6); });
  Domain domain(ctx);
  domain.add_dimensions(row, real, text);
  tell("dimensions", domain.ndim());
  tell("has", domain.has_dimension("real"));
  tell("has another", domain.has_dimension("whole"));
  tell("by name", domain.dimension("real"));
  tell("by index", domain.dimension(0));
  tell("all", domain.dimensions().size());
  tried("type of all", [&] { domain.type(); });
  tried("no such", [&] { domain.dimension("none"); });
  tried("no such", [&] { domain.dimension(3); });
  std::cout << told(domain) << "\n";
  Domain square(ctx);
  square.add_dimensions(
      Dimension::create<int64_t>(ctx, "x", {{0, 9}}, 5), Dimension::create<int64_t>(ctx, "y", {{0, 19}}, 5));
  tell("cells", square.cell_num());
  tell("type of all", word(square.type()));

  auto number = Attribute::create<int32_t>(ctx, "number", list);
  auto pair = Attribute::create<std::array<float, 2>>(ctx, "pair");
  auto words = Attribute::create<std::string>(ctx, "words");
  auto times = Attribute::create(ctx, "times", TILEDB_DATETIME_MS);
  auto blob = Attribute(ctx, "blob", TILEDB_BLOB, list);
  const int32_t fill = -7;
  number.set_fill_value(&fill, sizeof fill);
  times.set_nullable(true);
  const int64_t instant = 11;
  times.set_fill_value(&instant, sizeof instant, 1);
  blob.set_cell_val_num(TILEDB_VAR_NUM);
  const void* value = nullptr;
  uint64_t value_size = 0;
  uint8_t valid = 9;
  number.get_fill_value(&value, &value_size);
  tell("fill", *static_cast<const int32_t*>(value));
  times.get_fill_value(&value, &value_size, &valid);
  tell("fill", *static_cast<const int64_t*>(value) + valid);
  tell("size", pair.cell_size());
  tell("values", pair.cell_val_num());
  tell("any length", words.variable_sized());
  tell("nullable", times.nullable());
  tell("filters", blob.filter_list());
  tried("fill of a field that may be null", [&] { times.set_fill_value(&instant, sizeof instant); });
  for (const Attribute* attribute : {&number, &pair, &words, &times, &blob}) std::cout << told(*attribute) << "\n";

  ArraySchema schema(ctx, TILEDB_SPARSE);
  schema.set_domain(domain).set_order({{TILEDB_COL_MAJOR, TILEDB_ROW_MAJOR}}).set_capacity(77).set_allows_dups(true);
  schema.add_attributes(number, pair, words);
  schema.add_attribute(times).add_attribute(blob);
  schema.set_coords_filter_list(list).set_offsets_filter_list(list).set_validity_filter_list(list);
  schema.check();
  tell("kind", ArraySchema::to_str(schema.array_type()));
  tell("tiles", ArraySchema::to_str(schema.tile_order()));
  tell("cells", ArraySchema::to_str(schema.cell_order()));
  tell("capacity", schema.capacity());
  tell("duplicates", schema.allows_dups());
  tell("version", schema.version());
  tell("attributes", schema.attribute_num());
  tell("filters of coordinates", schema.coords_filter_list());
  tell("filters of offsets", schema.offsets_filter_list());
  tell("filters of validity", schema.validity_filter_list());
  tell("by name", schema.attribute("pair").name());
  tell("by index", schema.attribute(2).name());
  tell("has", schema.has_attribute("none"));
  std::set<std::string> names;
  for (const auto& [name, attribute] : schema.attributes()) names.insert(name + " of " + word(attribute.type()));
  for (const std::string& name : names) tell("attribute", name);
  tried("no such", [&] { schema.attribute("none"); });
  std::cout << told(schema) << "\n";
  Array::create(at("schema"), schema);
  tell("loaded", told(Array::load_schema(ctx, at("schema"))) == told(schema));
  tell("loaded", ArraySchema(ctx, at("schema")).attribute_num());
  tell("loaded", Array::load_schema_with_config(ctx, Config(), at("schema")).capacity());
  tried("created twice", [&] { Array::create(ctx, at("schema"), schema); });
  tried("one attribute twice", [&] {
    ArraySchema twice(ctx, TILEDB_SPARSE);
    twice.set_domain(domain);
    twice.add_attribute(number).add_attribute(number);
    twice.check();
  });
  tried("dense", [&] {
    ArraySchema dense(ctx, TILEDB_DENSE);
    dense.set_domain(domain);
    dense.check();
  });
}

ArraySchema people_schema(const Context& ctx, tiledb_array_type_t type) {
  Domain domain(ctx);
  domain.add_dimension(Dimension::create<int32_t>(ctx, "id", {{1, 100}}, 4));
  ArraySchema schema(ctx, type);
  schema.set_domain(domain).set_capacity(3);
  auto age = Attribute::create<int32_t>(ctx, "age");
  auto name = Attribute::create<std::string>(ctx, "name");
  auto score = Attribute::create<double>(ctx, "score");
  auto note = Attribute::create<std::string>(ctx, "note");
  score.set_nullable(true);
  note.set_nullable(true);
  schema.add_attributes(age, name, score, note);
  return schema;
}

struct People {
  std::vector<int32_t> id, age;
  std::string name;
  std::vector<uint64_t> name_at;
  std::vector<double> score;
  std::vector<uint8_t> score_valid;
  std::string note;
  std::vector<uint64_t> note_at;
  std::vector<uint8_t> note_valid;

  explicit People(size_t cells = 0, size_t bytes = 0)
      : id(cells), age(cells), name(bytes, ' '), name_at(cells), score(cells), score_valid(cells), note(bytes, ' '),
        note_at(cells), note_valid(cells) {}

  void set_into(Query& query, bool has_ids = true) {
    if (has_ids) query.set_data_buffer("id", id);
    query.set_data_buffer("age", age).set_data_buffer("name", name).set_offsets_buffer("name", name_at);
    query.set_data_buffer("score", score).set_validity_buffer("score", score_valid);
    query.set_data_buffer("note", note).set_offsets_buffer("note", note_at).set_validity_buffer("note", note_valid);
  }

  void tell_them(Query& query, bool has_ids = true) const {
    auto counts = query.result_buffer_elements();
    auto nullable = query.result_buffer_elements_nullable();
    const size_t cells = counts["age"].second, bytes = counts["name"].second;
    const auto [note_offsets, note_bytes, note_flags] = nullable["note"];
    for (size_t cell = 0; cell < cells; ++cell) {
      std::ostringstream line;
      if (has_ids) line << id[cell] << " ";
      const size_t name_end = cell + 1 < cells ? name_at[cell + 1] : bytes;
      line << age[cell] << " '" << name.substr(name_at[cell], name_end - name_at[cell]) << "' ";
      line << (score_valid[cell] ? told(score[cell]) : "null") << " ";
      const size_t note_end = cell + 1 < note_offsets ? note_at[cell + 1] : note_bytes;
      line << (note_valid[cell] ? "'" + note.substr(note_at[cell], note_end - note_at[cell]) + "'" : "null");
      tell("cell", line.str());
    }
    tell("elements of name", told(counts["name"].first) + " " + told(counts["name"].second));
    tell("elements of note", told(note_offsets) + " " + told(note_bytes) + " " + told(note_flags));
  }
};

People some_people(int32_t first, int32_t count) {
  static const char* const names[] = {"Ada", "Bo", "", "Dorothea", "Emil"};
  People people;
  for (int32_t idx = 0; idx < count; ++idx) {
    const int32_t id = first + idx;
    people.id.push_back(id);
    people.age.push_back(id * 7 % 50);
    people.name_at.push_back(people.name.size());
    people.name += names[id % 5];
    people.score.push_back(id / 4.0);
    people.score_valid.push_back(id % 3 != 0);
    people.note_at.push_back(people.note.size());
    people.note += id % 2 ? "odd" : "";
    people.note_valid.push_back(id % 4 != 0);
  }
  return people;
}

void write_people(const Context& ctx, const std::string& uri, int32_t first, int32_t count, uint64_t time) {
  Array array(ctx, uri, TILEDB_WRITE, TemporalPolicy(TimeTravel, time));
  People people = some_people(first, count);
  Query query(ctx, array);
  const bool is_dense = array.schema().array_type() == TILEDB_DENSE;
  query.set_layout(is_dense ? TILEDB_ROW_MAJOR : TILEDB_UNORDERED);
  if (is_dense) {
    Subarray cells(ctx, array);
    cells.add_range(0, first, first + count - 1);
    query.set_subarray(cells);
  }
  people.set_into(query, !is_dense);
  tell("written", query.submit());
  query.finalize();
}

void sparse() {
  area("sparse");
  Context ctx;
  const std::string uri = at("sparse");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  {
    Array array(ctx, uri, TILEDB_READ);
    tell("empty", array.non_empty_domain<int32_t>().empty());
  }
  write_people(ctx, uri, 1, 7, 10);
  {
    Array array(ctx, uri, TILEDB_WRITE, TemporalPolicy(TimeTravel, 20));
    People people = some_people(50, 4);
    Query query(ctx, array, TILEDB_WRITE);
    query.set_layout(TILEDB_GLOBAL_ORDER);
    people.set_into(query);
    tell("status", query.submit());
    People more = some_people(60, 2);
    more.set_into(query);
    query.submit_and_finalize();
    tell("status", query.query_status());
    tell("kind", Query::to_str(query.query_type()));
    tell("layout", ArraySchema::to_str(query.query_layout()));
    tell("fragments", query.fragment_num());
    tell("of them", query.fragment_uri(0).rfind("__20_20_") != std::string::npos);
    tell_pair("times", query.fragment_timestamp_range(0));
    tried("no such fragment", [&] { query.fragment_uri(1); });
  }
  Array array(ctx, uri, TILEDB_READ);
  tell("is open", array.is_open());
  tell("uri", array.uri());
  tell("kind", Query::to_str(array.query_type()));
  tell("domain", array.non_empty_domain<int32_t>()[0].first);
  tell_pair("domain", array.non_empty_domain<int32_t>(0));
  tell_pair("domain", array.non_empty_domain<int32_t>("id"));
  tried("domain of another type", [&] { array.non_empty_domain<int64_t>(0); });
  for (tiledb_layout_t layout : {TILEDB_ROW_MAJOR, TILEDB_GLOBAL_ORDER, TILEDB_UNORDERED}) {
    Query query(array);
    People people(20, 100);
    query.set_layout(layout);
    people.set_into(query);
    tell("status", query.submit());
    tell("has results", query.has_results());
    if (layout != TILEDB_UNORDERED) people.tell_them(query);
    tell("array", query.array().uri());
    if (layout == TILEDB_UNORDERED) tell("cells", query.result_buffer_elements()["age"].second);
  }
  {
    Subarray ranges(ctx, array);
    ranges.add_range("id", 2, 3).add_range(0, 50, 51).add_range<int32_t>("id", 7, 7);
    tell("ranges", ranges.range_num(0));
    tell("ranges", ranges.range_num("id"));
    tell_range("range", ranges.range<int32_t>(0, 1));
    tell_range("range", ranges.range<int32_t>("id", 2));
    tell("array", ranges.array().uri());
    tried("wrong type", [&] { ranges.add_range<int64_t>(0, 1, 2); });
    tried("out of the domain", [&] { ranges.add_range(0, 90, 101); });
    tried("backwards", [&] { ranges.add_range(0, 9, 8); });
    tried("no such dimension", [&] { ranges.add_range("none", 9, 8); });
    tried("steps", [&] { ranges.add_range(0, 1, 9, 2); });
    Query query(ctx, array);
    People people(20, 100);
    query.set_layout(TILEDB_ROW_MAJOR).set_subarray(ranges);
    people.set_into(query);
    query.submit();
    people.tell_them(query);
    Subarray taken(ctx, array);
    query.update_subarray_from_query(&taken);
    tell("ranges of the query", taken.range_num(0));
    tell("of the query", query.config().contains("sm.memory_budget"));
    void* buffer = nullptr;
    uint64_t count = 0, size = 0;
    query.get_data_buffer("age", &buffer, &count, &size);
    tell("buffer", told(buffer == people.age.data()) + told(count) + told(size));
    uint64_t* offsets = nullptr;
    query.get_offsets_buffer("name", &offsets, &count);
    tell("offsets", told(offsets == people.name_at.data()) + told(count));
    uint8_t* flags = nullptr;
    query.get_validity_buffer("note", &flags, &count);
    tell("validity", told(flags == people.note_valid.data()) + told(count));
    tried("buffer of another type", [&] { query.set_data_buffer("age", people.score); });
    tried("buffer of no field", [&] { query.set_data_buffer("none", people.score); });
  }
  {
    Query query(ctx, array);
    Subarray ranges(ctx, array, false);
    ranges.set_coalesce_ranges(true);
    ranges.set_subarray({3, 60});
    Config config;
    config["sm.read_range_oob"] = "error";
    ranges.set_config(config);
    tried("merging after ranges", [&] { ranges.set_coalesce_ranges(true); });
    query.set_config(config).set_subarray(ranges).set_layout(TILEDB_UNORDERED);
    tell("estimate", query.est_result_size("age") > 0);
    tell("estimate", query.est_result_size_var("name")[0] > 0);
    tell("estimate", query.est_result_size_nullable("score")[1] > 0);
    tell("estimate", query.est_result_size_var_nullable("note")[2] > 0);
    tell("fragments that it reads", QueryExperimental::get_relevant_fragment_num(ctx, query));
    tried("estimate of a field of texts", [&] { query.est_result_size("name"); });
    tried("too few", [&] { ranges.set_subarray({3}); });
    tried("backwards", [&] { ranges.set_subarray(std::vector<int32_t>{3, 2}); });
    Stats::enable();
    std::vector<int32_t> ages(20);
    query.set_data_buffer("age", ages);
    query.submit();
    tell("statistics", query.stats().find("\"timers\"") != std::string::npos);
    Query narrow(ctx, array);
    Subarray late(ctx, array);
    late.add_range(0, 40, 60);
    narrow.set_layout(TILEDB_UNORDERED).set_subarray(late).set_data_buffer("age", ages);
    narrow.submit();
    tell("fragments that another reads", QueryExperimental::get_relevant_fragment_num(ctx, narrow));
    Stats::disable();
    tell("cells", query.result_buffer_elements()["age"].second);
  }
  array.close();
  tell("is open", array.is_open());
  tried("closed", [&] { Query query(ctx, array); });
}

void texts() {
  area("dimensions of text");
  Context ctx;
  const std::string uri = at("texts");
  Domain domain(ctx);
  domain.add_dimension(Dimension::create(ctx, "key", TILEDB_STRING_ASCII, nullptr, nullptr))
      .add_dimension(Dimension::create<int64_t>(ctx, "x", {{-10, 10}}, 5));
  ArraySchema schema(ctx, TILEDB_SPARSE);
  schema.set_domain(domain).add_attribute(Attribute::create<std::vector<uint16_t>>(ctx, "list"));
  Array::create(uri, schema);
  {
    Array array(ctx, uri, TILEDB_WRITE);
    Query query(ctx, array);
    std::string keys = "pearfigfigplum";
    std::vector<uint64_t> keys_at{0, 4, 7, 10};
    std::vector<int64_t> x{3, -2, 9, 0};
    std::vector<uint16_t> list{1, 2, 3, 4, 5, 6};
    std::vector<uint64_t> list_at{0, 2, 6, 6};
    query.set_layout(TILEDB_UNORDERED).set_data_buffer("key", keys).set_offsets_buffer("key", keys_at);
    query.set_data_buffer("x", x).set_data_buffer("list", list).set_offsets_buffer("list", list_at);
    query.submit();
    query.finalize();
  }
  Array array(ctx, uri, TILEDB_READ);
  tell_pair("domain", array.non_empty_domain_var("key"));
  tell_pair("domain", array.non_empty_domain_var(0));
  tell_pair("domain", array.non_empty_domain<int64_t>("x"));
  tried("domain of numbers", [&] { array.non_empty_domain_var("x"); });
  Subarray ranges(ctx, array);
  ranges.add_range("key", std::string("fig"), std::string("fig")).add_range(0, std::string("pl"), std::string("q"));
  ranges.add_range<int64_t>(1, -2, 9);
  tell_range("range", ranges.range(0, 0));
  tell_range("range", ranges.range("key", 1));
  Query query(ctx, array);
  std::string keys(100, ' ');
  std::vector<uint64_t> keys_at(10), list_at(10);
  std::vector<int64_t> x(10);
  std::vector<uint16_t> list(20);
  query.set_layout(TILEDB_ROW_MAJOR).set_subarray(ranges).set_data_buffer("key", keys);
  query.set_offsets_buffer("key", keys_at).set_data_buffer("x", x).set_data_buffer("list", list);
  query.set_offsets_buffer("list", list_at);
  tell("status", query.submit());
  auto counts = query.result_buffer_elements();
  keys.resize(counts["key"].second);
  keys_at.resize(counts["key"].first);
  x.resize(counts["x"].second);
  list.resize(counts["list"].second);
  list_at.resize(counts["list"].first);
  tell("keys", keys);
  tell_all("offsets", keys_at);
  tell_all("x", x);
  tell_all("list", list);
  tell_all("offsets", list_at);
}

void dense() {
  area("dense");
  Context ctx;
  const std::string uri = at("dense");
  Domain domain(ctx);
  domain.add_dimensions(
      Dimension::create<uint32_t>(ctx, "row", {{1, 4}}, 2), Dimension::create<uint32_t>(ctx, "column", {{1, 6}}, 3));
  ArraySchema schema(ctx, TILEDB_DENSE);
  schema.set_domain(domain).set_order({{TILEDB_ROW_MAJOR, TILEDB_ROW_MAJOR}});
  schema.add_attributes(Attribute::create<int64_t>(ctx, "a"), Attribute::create<std::array<int8_t, 2>>(ctx, "b"));
  Array::create(uri, schema);
  {
    Array array(ctx, uri, TILEDB_WRITE);
    Query query(ctx, array);
    std::vector<int64_t> a(8);
    std::vector<int8_t> b(16);
    for (size_t idx = 0; idx < 16; ++idx) {
      a[idx / 2] = static_cast<int64_t>(idx) * 100;
      b[idx] = static_cast<int8_t>(idx);
    }
    query.set_layout(TILEDB_COL_MAJOR).set_subarray(Subarray(ctx, array).set_subarray<uint32_t>({2, 3, 2, 5}));
    query.set_data_buffer("a", a).set_data_buffer("b", reinterpret_cast<std::array<int8_t, 2>*>(b.data()), 8);
    tell("status", query.submit());
  }
  Array array(ctx, uri, TILEDB_READ);
  for (auto& [name, sides] : array.non_empty_domain<uint32_t>()) tell_pair("domain of " + name, sides);
  for (tiledb_layout_t layout : {TILEDB_ROW_MAJOR, TILEDB_COL_MAJOR, TILEDB_GLOBAL_ORDER}) {
    Subarray all(ctx, array);
    all.set_subarray(std::vector<std::array<uint32_t, 2>>{{{1, 4}}, {{1, 6}}});
    Query query(ctx, array);
    std::vector<int64_t> a(24);
    std::vector<std::array<int8_t, 2>> b(24);
    query.set_layout(layout).set_subarray(all).set_data_buffer("a", a).set_data_buffer("b", b);
    tell("status", query.submit());
    std::replace(a.begin(), a.end(), std::numeric_limits<int64_t>::min(), int64_t{-1});
    tell_all(ArraySchema::to_str(layout), a);
    tell("elements", query.result_buffer_elements()["b"].second);
    tell_all("b", std::vector<int8_t>(&b[0][0], &b[0][0] + 48));
  }
  Query query(ctx, array);
  std::vector<int64_t> a(4);
  std::vector<uint32_t> rows(4), columns(4);
  Subarray some(ctx, array);
  some.add_range<uint32_t>(0, 3, 3).add_range<uint32_t>(0, 2, 2).add_range<uint32_t>("column", 4, 5);
  query.set_layout(TILEDB_ROW_MAJOR).set_subarray(some).set_data_buffer("a", a).set_data_buffer("row", rows);
  query.set_data_buffer("column", columns);
  query.submit();
  tell_all("a", a);
  tell_all("rows", rows);
  tell_all("columns", columns);
  tried("no subarray", [&] {
    Query other(ctx, array);
    other.set_layout(TILEDB_UNORDERED).set_data_buffer("a", a);
    other.submit();
  });
  tried("write to it", [&] { Query other(ctx, array, TILEDB_WRITE); });

  const std::string people_uri = at("dense-people");
  Array::create(people_uri, people_schema(ctx, TILEDB_DENSE));
  write_people(ctx, people_uri, 5, 3, 10);
  Array people_array(ctx, people_uri, TILEDB_READ);
  Subarray cells(ctx, people_array);
  cells.add_range(0, 5, 7);
  Query read(ctx, people_array);
  People people(10, 100);
  read.set_layout(TILEDB_ROW_MAJOR).set_subarray(cells);
  people.set_into(read, false);
  tell("status", read.submit());
  people.tell_them(read, false);
}

void conditions() {
  area("conditions");
  Context ctx;
  const std::string uri = at("conditions");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  write_people(ctx, uri, 1, 20, 10);
  Array array(ctx, uri, TILEDB_READ);
  auto ids = [&](const std::string& what, const QueryCondition& condition) {
    tried(what, [&] {
      Query query(ctx, array);
      std::vector<int32_t> found(20);
      query.set_layout(TILEDB_ROW_MAJOR).set_condition(condition).set_data_buffer("id", found);
      query.submit();
      found.resize(query.result_buffer_elements()["id"].second);
      tell_all("found", found);
    });
  };
  auto old = QueryCondition::create(ctx, "age", int32_t{30}, TILEDB_GE);
  auto ada = QueryCondition::create(ctx, "name", std::string("Ada"), TILEDB_EQ);
  QueryCondition unscored(ctx), odd(ctx), early(ctx);
  unscored.init("score", nullptr, 0, TILEDB_EQ);
  odd.init("note", "odd", TILEDB_EQ);
  const int32_t limit = 8;
  early.init("id", &limit, sizeof limit, TILEDB_LT);
  ids("old", old);
  ids("Ada", ada);
  ids("unscored", unscored);
  ids("odd", odd);
  ids("early", early);
  ids("old and odd", old.combine(odd, TILEDB_AND));
  ids("Ada or unscored", ada.combine(unscored, TILEDB_OR));
  ids("neither", ada.combine(unscored, TILEDB_OR).negate());
  ids("not odd", odd.negate());
  ids("one of", QueryConditionExperimental::create(ctx, "age", std::vector<int32_t>{7, 14, 15, 21}, TILEDB_IN));
  ids("none of",
      QueryConditionExperimental::create(ctx, "name", std::vector<std::string>{"Ada", "Emil", ""}, TILEDB_NOT_IN));
  ids("no such field", QueryCondition::create(ctx, "none", int32_t{30}, TILEDB_GE));
  ids("another size", QueryCondition::create(ctx, "age", int64_t{30}, TILEDB_GE));
  ids("texts of more", QueryCondition::create(ctx, "name", std::string("B"), TILEDB_GT));
  tried("one of nothing",
      [&] { QueryConditionExperimental::create(ctx, "age", std::vector<int32_t>{7}, TILEDB_LT); });
  tried("twice", [&] { ada.init("name", "Bo", TILEDB_EQ); });
}

void aggregates() {
  area("aggregates");
  Context ctx;
  const std::string uri = at("aggregates");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  write_people(ctx, uri, 1, 12, 10);
  Array array(ctx, uri, TILEDB_READ);
  Query query(ctx, array);
  query.set_layout(TILEDB_UNORDERED);
  QueryChannel channel = QueryExperimental::get_default_channel(query);
  channel.apply_aggregate("count", CountOperation());
  channel.apply_aggregate("sum", QueryExperimental::create_unary_aggregate<SumOperator>(query, "age"));
  channel.apply_aggregate("least", QueryExperimental::create_unary_aggregate<MinOperator>(query, "age"));
  channel.apply_aggregate("most", QueryExperimental::create_unary_aggregate<MaxOperator>(query, "score"));
  channel.apply_aggregate("mean", QueryExperimental::create_unary_aggregate<MeanOperator>(query, "score"));
  channel.apply_aggregate("nulls", QueryExperimental::create_unary_aggregate<NullCountOperator>(query, "note"));
  channel.apply_aggregate("last", QueryExperimental::create_unary_aggregate<MaxOperator>(query, "name"));
  uint64_t count = 0, nulls = 0;
  int64_t sum = 0;
  int32_t least = 0;
  double most = 0, mean = 0;
  std::vector<uint8_t> most_valid(1), mean_valid(1);
  std::string last(20, ' ');
  std::vector<uint64_t> last_at(1);
  query.set_data_buffer("count", &count, 1).set_data_buffer("sum", &sum, 1).set_data_buffer("least", &least, 1);
  query.set_data_buffer("most", &most, 1).set_validity_buffer("most", most_valid);
  query.set_data_buffer("mean", &mean, 1).set_validity_buffer("mean", mean_valid);
  query.set_data_buffer("nulls", &nulls, 1).set_data_buffer("last", last).set_offsets_buffer("last", last_at);
  tell("status", query.submit());
  tell("count", count);
  tell("sum", sum);
  tell("least", least);
  tell("most", most);
  tell("mean", mean);
  tell("nulls", nulls);
  auto counts = query.result_buffer_elements();
  tell("last", last.substr(0, counts["last"].second));
  tell("elements", told(counts["count"].second) + told(counts["sum"].second) + told(counts["last"].first));
  tried("sum of texts", [&] { QueryExperimental::create_unary_aggregate<SumOperator>(query, "name"); });
  Query other(ctx, array);
  other.set_layout(TILEDB_UNORDERED);
  tried("sum of texts", [&] { QueryExperimental::create_unary_aggregate<SumOperator>(other, "name"); });
  tried("of no field", [&] { QueryExperimental::create_unary_aggregate<SumOperator>(other, "none"); });
  tried("nulls of a field that has none",
      [&] { QueryExperimental::create_unary_aggregate<NullCountOperator>(other, "age"); });
  tried("one name twice", [&] {
    QueryChannel again = QueryExperimental::get_default_channel(other);
    again.apply_aggregate("count", CountOperation());
    again.apply_aggregate("count", CountOperation());
  });
}

void incomplete() {
  area("incomplete reads");
  Context ctx;
  const std::string uri = at("incomplete");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  write_people(ctx, uri, 1, 20, 10);
  Array array(ctx, uri, TILEDB_READ);
  for (tiledb_layout_t layout : {TILEDB_ROW_MAJOR, TILEDB_GLOBAL_ORDER, TILEDB_UNORDERED}) {
    Query query(ctx, array);
    std::vector<int32_t> ids(7), all;
    query.set_layout(layout).set_data_buffer("id", ids);
    Query::Status status;
    size_t rounds = 0;
    do {
      status = query.submit();
      const size_t count = query.result_buffer_elements()["id"].second;
      all.insert(all.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
      ++rounds;
    } while (status == Query::Status::INCOMPLETE && rounds < 20);
    tell("status", status);
    tell("more than one round", rounds > 1);
    tell_all("all", all);
  }
  Query query(ctx, array);
  std::vector<int32_t> none;
  std::string names(1, ' ');
  std::vector<uint64_t> names_at(1);
  query.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("name", names).set_offsets_buffer("name", names_at);
  tell("too small", query.submit());
  tell("elements", query.result_buffer_elements()["name"].first);
  std::string longer(100, ' ');
  std::vector<uint64_t> longer_at(30);
  query.set_data_buffer("name", longer).set_offsets_buffer("name", longer_at);
  uint64_t cells = 0, bytes = 0;
  do {
    query.submit();
    auto [name_cells, name_bytes] = query.result_buffer_elements()["name"];
    cells += name_cells;
    bytes += name_bytes;
  } while (query.query_status() == Query::Status::INCOMPLETE);
  tell("larger", query.query_status());
  tell_all("elements", std::vector<uint64_t>{cells, bytes});
}

void metadata() {
  area("metadata");
  Context ctx;
  const std::string uri = at("metadata");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  const std::vector<double> reals{0.5, 1.5};
  const std::string text = "a text";
  {
    Array array(ctx, uri, TILEDB_WRITE);
    array.put_metadata("reals", TILEDB_FLOAT64, 2, reals.data());
    array.put_metadata("text", TILEDB_STRING_UTF8, static_cast<uint32_t>(text.size()), text.data());
    array.put_metadata("nothing", TILEDB_INT32, 1, nullptr);
    array.put_metadata("gone", TILEDB_FLOAT64, 1, reals.data());
    array.delete_metadata("gone");
    tried("of a key without name", [&] { array.put_metadata("", TILEDB_FLOAT64, 1, reals.data()); });
    tried("read of one for writes", [&] { array.metadata_num(); });
  }
  Array array(ctx, uri, TILEDB_READ);
  tell("count", array.metadata_num());
  tiledb_datatype_t type = TILEDB_ANY;
  uint32_t count = 9;
  const void* value = nullptr;
  for (uint64_t idx = 0; idx < array.metadata_num(); ++idx) {
    std::string key;
    array.get_metadata_from_index(idx, &key, &type, &count, &value);
    tell(key, std::string(word(type)) + " " + told(count));
  }
  array.get_metadata("reals", &type, &count, &value);
  tell("second", static_cast<const double*>(value)[1]);
  array.get_metadata("text", &type, &count, &value);
  tell("text", std::string(static_cast<const char*>(value), count));
  array.get_metadata("none", &type, &count, &value);
  tell("none", value == nullptr);
  tell("has", array.has_metadata("text", &type));
  tell("its type", word(type));
  tell("has another", array.has_metadata("gone", &type));
  tried("no such index", [&] {
    std::string key;
    array.get_metadata_from_index(7, &key, &type, &count, &value);
  });
  tried("written to one for reads", [&] { array.put_metadata("text", TILEDB_INT32, 1, nullptr); });
  array.close();
  Array::consolidate_metadata(ctx, uri);
  Config config;
  config["sm.vacuum.mode"] = "array_meta";
  Array::vacuum(ctx, uri, &config);
  tell("files", VFS(ctx).ls(uri + "/__meta").size());
}

void enumerations() {
  area("enumerations");
  Context ctx;
  const std::string uri = at("enumerations");
  std::vector<std::string> colours{"red", "green", "blue"};
  std::vector<int32_t> sizes{38, 40, 42};
  auto colour = Enumeration::create(ctx, "colours", colours);
  auto size = Enumeration::create(ctx, "sizes", sizes, true);
  auto empty = Enumeration::create_empty(ctx, "empty", TILEDB_STRING_ASCII, TILEDB_VAR_NUM);
  for (Enumeration* enumeration : {&colour, &size, &empty}) {
    tell("name", enumeration->name());
    tell("type", word(enumeration->type()));
    tell("values", enumeration->cell_val_num());
    tell("ordered", enumeration->ordered());
    std::cout << told(*enumeration) << "\n";
  }
  tell_all("labels", colour.as_vector<std::string>());
  tell_all("labels", size.as_vector<int32_t>());
  tell("index", colour.index_of(std::string_view("blue")).value_or(99));
  tell("no index", colour.index_of(std::string_view("black")).has_value());
  tell("index", size.index_of(int32_t{40}).value_or(99));
  tried("twice the same", [&] {
    std::vector<std::string> same{"a", "a"};
    Enumeration::create(ctx, "same", same);
  });
  tried("of fixed size", [&] { colour.extend(std::vector<int32_t>{1}); });
  tried("of nothing", [&] { size.extend(std::vector<int32_t>{}); });

  ArraySchema schema = people_schema(ctx, TILEDB_SPARSE);
  ArraySchemaExperimental::add_enumeration(ctx, schema, colour);
  ArraySchemaExperimental::add_enumeration(ctx, schema, size);
  auto hue = Attribute::create<uint8_t>(ctx, "hue");
  AttributeExperimental::set_enumeration_name(ctx, hue, "colours");
  tell("of the attribute", AttributeExperimental::get_enumeration_name(ctx, hue).value_or("none"));
  tell("of another", AttributeExperimental::get_enumeration_name(ctx, schema.attribute("age")).value_or("none"));
  schema.add_attribute(hue);
  auto unknown = Attribute::create<uint8_t>(ctx, "unknown");
  AttributeExperimental::set_enumeration_name(ctx, unknown, "none");
  tried("unknown", [&] { schema.add_attribute(unknown); });
  Array::create(uri, schema);
  {
    Array array(ctx, uri, TILEDB_WRITE);
    Query query(ctx, array);
    People people = some_people(1, 6);
    std::vector<uint8_t> hues{0, 1, 2, 2, 1, 0};
    people.set_into(query);
    query.set_layout(TILEDB_UNORDERED).set_data_buffer("hue", hues);
    query.submit();
  }
  {
    Array array(ctx, uri, TILEDB_READ);
    auto loaded = ArrayExperimental::get_enumeration(ctx, array, "colours");
    tell_all("loaded", loaded.as_vector<std::string>());
    ArrayExperimental::load_all_enumerations(ctx, array);
    tell("by attribute",
        ArraySchemaExperimental::get_enumeration_from_attribute_name(ctx, array.schema(), "hue").name());
    tell("by name", ArraySchemaExperimental::get_enumeration_from_name(ctx, array.schema(), "sizes").name());
    tried("no such", [&] { ArrayExperimental::get_enumeration(ctx, array, "none"); });
    for (const char* label : {"blue", "black"}) {
      tried(label, [&] {
        Query query(ctx, array);
        std::vector<int32_t> ids(10);
        auto blue = QueryCondition::create(ctx, "hue", std::string(label), TILEDB_EQ);
        query.set_layout(TILEDB_ROW_MAJOR).set_condition(blue).set_data_buffer("id", ids);
        query.submit();
        ids.resize(query.result_buffer_elements()["id"].second);
        tell_all("found", ids);
      });
    }
    Query query(ctx, array);
    std::vector<int32_t> ids(10);
    auto code = QueryCondition::create(ctx, "hue", uint8_t{1}, TILEDB_EQ);
    QueryConditionExperimental::set_use_enumeration(ctx, code, false);
    query.set_layout(TILEDB_ROW_MAJOR).set_condition(code).set_data_buffer("id", ids);
    query.submit();
    ids.resize(query.result_buffer_elements()["id"].second);
    tell_all("found by code", ids);
  }
  std::vector<std::string> more{"black"};
  auto extended = colour.extend(more);
  tell_all("extended", extended.as_vector<std::string>());
  auto longer = size.extend(std::vector<int32_t>{44});
  ArraySchemaEvolution evolution(ctx);
  auto added = Enumeration::create(ctx, "added", sizes);
  evolution.extend_enumeration(extended).extend_enumeration(longer).add_enumeration(added).array_evolve(uri);
  Array array(ctx, uri, TILEDB_READ);
  ArrayExperimental::load_enumerations_all_schemas(ctx, array);
  tell_all("evolved", ArrayExperimental::get_enumeration(ctx, array, "colours").as_vector<std::string>());
  tell_all("evolved", ArrayExperimental::get_enumeration(ctx, array, "sizes").as_vector<int32_t>());
  tell_all("added", ArrayExperimental::get_enumeration(ctx, array, "added").as_vector<int32_t>());
  ArraySchemaEvolution(ctx).drop_enumeration("added").array_evolve(uri);
  tried("dropped", [&] {
    Array again(ctx, uri, TILEDB_READ);
    ArrayExperimental::get_enumeration(ctx, again, "added");
  });
}

void current_domains() {
  area("current domains");
  Context ctx;
  const std::string uri = at("current");
  Domain domain(ctx);
  domain.add_dimension(Dimension::create<int32_t>(ctx, "x", {{1, 1000}}, 10))
      .add_dimension(Dimension::create(ctx, "key", TILEDB_STRING_ASCII, nullptr, nullptr));
  NDRectangle box(ctx, domain);
  box.set_range<int32_t>("x", 1, 50).set_range(1, std::string("b"), std::string("k"));
  tell_range("x", box.range<int32_t>(0));
  tell_range("x", box.range<int32_t>("x"));
  tell_range("key", box.range<std::string>("key"));
  tell_range("key", box.range<std::string>(1));
  tell("dimensions", box.dim_num());
  tell("type", word(box.range_dtype(0)));
  tell("type", word(box.range_dtype("key")));
  std::cout << told(box) << "\n";
  tried("another size", [&] { box.set_range<int64_t>(0, 1, 5); });
  tried("no such dimension", [&] { box.set_range<int32_t>(2, 1, 5); });
  tried("no such name", [&] { box.set_range<int32_t>("y", 1, 5); });
  tried("backwards", [&] { box.set_range<int32_t>(0, 5, 1); });
  CurrentDomain current(ctx);
  tell("empty", current.is_empty());
  tried("type of nothing", [&] { current.type(); });
  std::cout << told(current) << "\n";
  current.set_ndrectangle(box);
  tell("empty", current.is_empty());
  tell("type", static_cast<int>(current.type()));
  tell_range("x", current.ndrectangle().range<int32_t>(0));
  ArraySchema schema(ctx, TILEDB_SPARSE);
  schema.set_domain(domain).add_attribute(Attribute::create<int32_t>(ctx, "a"));
  ArraySchemaExperimental::set_current_domain(ctx, schema, current);
  Array::create(uri, schema);
  auto write = [&](int32_t place) {
    Array array(ctx, uri, TILEDB_WRITE);
    Query query(ctx, array);
    std::vector<int32_t> x{place}, a{1};
    std::string keys = "cat";
    std::vector<uint64_t> keys_at{0};
    query.set_layout(TILEDB_UNORDERED).set_data_buffer("x", x).set_data_buffer("a", a);
    query.set_data_buffer("key", keys).set_offsets_buffer("key", keys_at);
    query.submit();
  };
  tried("inside", [&] { write(50); });
  refused("outside", [&] { write(51); });
  NDRectangle larger(ctx, domain);
  larger.set_range<int32_t>(0, 1, 60).set_range("key", std::string("a"), std::string("z"));
  CurrentDomain expanded(ctx);
  expanded.set_ndrectangle(larger);
  ArraySchemaEvolution(ctx).expand_current_domain(expanded).array_evolve(uri);
  tried("inside", [&] { write(51); });
  auto loaded = ArraySchemaExperimental::current_domain(ctx, Array::load_schema(ctx, uri));
  tell_range("x", loaded.ndrectangle().range<int32_t>("x"));
  tell_range("key", loaded.ndrectangle().range<std::string>("key"));
  refused("smaller", [&] { ArraySchemaEvolution(ctx).expand_current_domain(current).array_evolve(uri); });
}

void evolution() {
  area("evolution");
  Context ctx;
  const std::string uri = at("evolution");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  write_people(ctx, uri, 1, 3, 10);
  auto weight = Attribute::create<uint16_t>(ctx, "weight");
  const uint16_t fill = 8;
  weight.set_fill_value(&fill, sizeof fill);
  // Schemas of one array are in the order of their times; this one is after that of today.
  const uint64_t later = 4102444800000;
  ArraySchemaEvolution change(ctx);
  change.add_attribute(weight).drop_attribute("note").set_timestamp_range({later, later});
  tried("dropped and added", [&] { ArraySchemaEvolution(ctx).drop_attribute("none").array_evolve(uri); });
  change.array_evolve(uri);
  ArraySchema schema(ctx, uri);
  tell_pair("times", schema.timestamp_range());
  tell("has", schema.has_attribute("note"));
  Array array(ctx, uri, TILEDB_READ, TemporalPolicy(TimeTravel, later));
  Query query(ctx, array);
  std::vector<uint16_t> weights(5);
  query.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("weight", weights);
  query.submit();
  weights.resize(query.result_buffer_elements()["weight"].second);
  tell_all("weights", weights);
  tell("version", schema.version());
  Array::upgrade_version(ctx, uri);
  tell("version", ArraySchema(ctx, uri).version());
}

std::vector<int32_t> ids_at(const Context& ctx, const std::string& uri, const TemporalPolicy& policy = {}) {
  Array array(ctx, uri, TILEDB_READ, policy);
  Query query(ctx, array);
  std::vector<int32_t> ids(50);
  query.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("id", ids);
  query.submit();
  ids.resize(query.result_buffer_elements()["id"].second);
  return ids;
}

void deletes() {
  area("deletes");
  Context ctx;
  const std::string uri = at("deletes");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  write_people(ctx, uri, 1, 6, 10);
  {
    Array array(ctx, uri, TILEDB_DELETE, TemporalPolicy(TimeTravel, 20));
    Query query(ctx, array, TILEDB_DELETE);
    tell("kind", Query::to_str(query.query_type()));
    tried("without a condition", [&] {
      Query other(ctx, array, TILEDB_DELETE);
      other.submit();
    });
    query.set_condition(QueryCondition::create(ctx, "age", int32_t{20}, TILEDB_LT));
    tell("status", query.submit());
  }
  tell_all("left", ids_at(ctx, uri));
  tell_all("before", ids_at(ctx, uri, TemporalPolicy(TimeTravel, 15)));
  write_people(ctx, uri, 10, 2, 30);
  Array::delete_fragments(ctx, uri, 25, 35);
  tell_all("left", ids_at(ctx, uri));
  write_people(ctx, uri, 20, 2, 40);
  {
    FragmentInfo fragments(ctx, uri);
    fragments.load();
    const std::string last = fragments.fragment_uri(fragments.fragment_num() - 1);
    const char* list[] = {last.c_str()};
    Array::delete_fragments_list(ctx, uri, list, 1);
  }
  tell_all("left", ids_at(ctx, uri));
  Array::delete_array(ctx, uri);
  tell("object", Object::object(ctx, uri).type() == Object::Type::Invalid);
  tried("deleted", [&] { ids_at(ctx, uri); });
}

void upkeep() {
  area("upkeep");
  Context ctx;
  const std::string uri = at("upkeep");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  for (int32_t part = 0; part < 3; ++part) write_people(ctx, uri, 1 + part * 10, 5, 10 + static_cast<uint64_t>(part));
  {
    Array array(ctx, uri, TILEDB_READ);
    ConsolidationPlan plan(ctx, array, 1024 * 1024);
    tell("nodes", plan.num_nodes());
    tell("fragments", plan.num_fragments(0));
    std::set<std::string> starts;
    for (uint64_t idx = 0; idx < plan.num_fragments(0); ++idx) starts.insert(plan.fragment_uri(0, idx).substr(0, 7));
    for (const std::string& start : starts) tell("fragment", start);
    tried("no such node", [&] { plan.num_fragments(1); });
    tried("no such fragment", [&] { plan.fragment_uri(0, 9); });
    tell("dump", plan.dump().rfind("{", 0) == 0);
  }
  FragmentInfo info(ctx, uri);
  info.load();
  tell("fragments", info.fragment_num());
  tell("cells", info.total_cell_num());
  for (uint32_t idx = 0; idx < info.fragment_num(); ++idx) {
    std::array<int32_t, 2> sides{};
    info.get_non_empty_domain(idx, 0, sides.data());
    tell_range("domain", sides);
    info.get_non_empty_domain(idx, "id", sides.data());
    tell_range("domain", sides);
    tell("boxes", info.mbr_num(idx));
    info.get_mbr(idx, 1, 0, sides.data());
    tell_range("box", sides);
    info.get_mbr(idx, 0, "id", sides.data());
    tell_range("box", sides);
    tell_pair("times", info.timestamp_range(idx));
    tell("cells", info.cell_num(idx));
    tell("kind", told(info.dense(idx)) + told(info.sparse(idx)));
    tell("version", info.version(idx));
    tell("size", info.fragment_size(idx) > 0);
    tell("names", last_part(info.fragment_uri(idx)) == last_part(info.fragment_name(idx)));
    tell("schema", info.array_schema(idx).capacity());
    tell("name of it", !info.array_schema_name(idx).empty());
    tell("consolidated", info.has_consolidated_metadata(idx));
  }
  tell("not consolidated", info.unconsolidated_metadata_num());
  tried("no such fragment", [&] { info.cell_num(3); });
  tried("no such dimension", [&] {
    std::array<int32_t, 2> sides{};
    info.get_non_empty_domain(0, "none", sides.data());
  });
  tried("no such box", [&] {
    std::array<int32_t, 2> sides{};
    info.get_mbr(0, 5, 0, sides.data());
  });
  tried("texts of numbers", [&] { info.non_empty_domain_var(0, 0); });
  tell("dump", told(info).rfind("- Fragment num: 3\n", 0) == 0);

  FragmentInfo texts_info(ctx, at("texts"));
  texts_info.load();
  tell_pair("domain", texts_info.non_empty_domain_var(0, 0));
  tell_pair("domain", texts_info.non_empty_domain_var(0, "key"));
  tell_pair("box", texts_info.mbr_var(0, 0, 0));
  tell_pair("box", texts_info.mbr_var(0, 0, "key"));

  Config config;
  config["sm.consolidation.mode"] = "fragment_meta";
  Array::consolidate(ctx, uri, &config);
  info.load();
  tell("consolidated", info.has_consolidated_metadata(0));
  {
    const std::string first = last_part(info.fragment_uri(0)), second = last_part(info.fragment_uri(1));
    const char* list[] = {first.c_str(), second.c_str()};
    Array::consolidate(ctx, uri, list, 2);
  }
  info.load();
  tell("fragments", info.fragment_num());
  tell("to vacuum", info.to_vacuum_num());
  tell("of them", last_part(info.to_vacuum_uri(0)).substr(0, 7));
  Array::vacuum(ctx, uri);
  info.load();
  tell("to vacuum", info.to_vacuum_num());
  Array::consolidate(ctx, uri);
  Array::vacuum(ctx, uri);
  info.load();
  tell("fragments", info.fragment_num());
  tell_pair("times", info.timestamp_range(0));
  tell_all("cells", ids_at(ctx, uri));
  tell("encryption", static_cast<int>(Array::encryption_type(ctx, uri)));
  config["sm.consolidation.mode"] = "something";
  tried("another mode", [&] { Array::consolidate(ctx, uri, &config); });
  tried("nothing there", [&] { FragmentInfo(ctx, at("nothing")).load(); });
}

void times() {
  area("times");
  Context ctx;
  const std::string uri = at("times");
  Array::create(uri, people_schema(ctx, TILEDB_SPARSE));
  for (uint64_t time : {10, 20, 30}) write_people(ctx, uri, static_cast<int32_t>(time), 2, time);
  tell_all("all", ids_at(ctx, uri));
  tell_all("until 20", ids_at(ctx, uri, TemporalPolicy(TimeTravel, 20)));
  tell_all("from 15 to 25", ids_at(ctx, uri, TemporalPolicy(TimestampStartEnd, 15, 25)));
  Array array(ctx, uri, TILEDB_READ, TemporalPolicy(TimestampStartEnd, 15, 25));
  tell_pair("opened", std::pair(array.open_timestamp_start(), array.open_timestamp_end()));
  array.set_open_timestamp_start(0);
  array.set_open_timestamp_end(10);
  array.reopen();
  tell_pair("opened", std::pair(array.open_timestamp_start(), array.open_timestamp_end()));
  tell_pair("domain", array.non_empty_domain<int32_t>(0));
  array.close();
  array.open(TILEDB_READ, 20);
  tell_pair("domain", array.non_empty_domain<int32_t>(0));
  array.close();
  Config config;
  config["my.key"] = "mine";
  array.set_config(config);
  tell("configuration", array.config().get("my.key"));
  tried("opened twice", [&] {
    array.open(TILEDB_READ);
    array.open(TILEDB_READ);
  });
}

void encryption() {
  area("encryption");
  Context ctx;
  const std::string uri = at("encrypted"), key = "0123456789abcdeF0123456789abcdeF";
  Config config;
  config["sm.encryption_type"] = "AES_256_GCM";
  config["sm.encryption_key"] = key;
  {
    Context keyed(config);
    Array::create(uri, people_schema(keyed, TILEDB_SPARSE));
    write_people(keyed, uri, 1, 2, 10);
    tell("type", static_cast<int>(Array::encryption_type(keyed, uri)));
  }
  {
    Array array(ctx, uri, TILEDB_READ, {}, EncryptionAlgorithm(AESGCM, key.c_str()));
    tell_pair("domain", array.non_empty_domain<int32_t>(0));
    array.close();
    array.open(TILEDB_READ, TILEDB_AES_256_GCM, key);
    tell_pair("domain", array.non_empty_domain<int32_t>(0));
  }
  refused("no key", [&] { Array array(ctx, uri, TILEDB_READ); });
  refused("short key", [&] { Array array(ctx, uri, TILEDB_READ, {}, EncryptionAlgorithm(AESGCM, "short")); });
}

void groups() {
  area("groups");
  Context ctx;
  const std::string uri = at("group");
  Group::create(ctx, uri);
  create_group(ctx, uri + "/inner");
  Array::create(uri + "/array", people_schema(ctx, TILEDB_SPARSE));
  tried("twice", [&] { Group::create(ctx, uri); });
  const int32_t seven = 7;
  {
    Group group(ctx, uri, TILEDB_WRITE);
    group.add_member("inner", true, "b");
    group.add_member(uri + "/array", false, "a", TILEDB_ARRAY);
    group.put_metadata("seven", TILEDB_INT32, 1, &seven);
    group.put_metadata("gone", TILEDB_INT32, 1, &seven);
    group.delete_metadata("gone");
    tried("read of one for writes", [&] { group.member_count(); });
    group.close();
  }
  Group group(ctx, uri, TILEDB_READ);
  tell("open", group.is_open());
  tell("uri", group.uri());
  tell("kind", Query::to_str(group.query_type()));
  tell("members", group.member_count());
  std::set<std::string> members;
  for (uint64_t idx = 0; idx < group.member_count(); ++idx) members.insert(told(group.member(idx)));
  for (const std::string& member : members) tell("member", member);
  tell("by name", group.member("a"));
  tell("relative", told(group.is_relative("a")) + told(group.is_relative("b")));
  tried("no such", [&] { group.member("none"); });
  tried("no such", [&] { group.member(9); });
  tell("metadata", group.metadata_num());
  tiledb_datatype_t type = TILEDB_ANY;
  uint32_t count = 0;
  const void* value = nullptr;
  std::string key;
  group.get_metadata("seven", &type, &count, &value);
  tell("seven", *static_cast<const int32_t*>(value));
  group.get_metadata_from_index(0, &key, &type, &count, &value);
  tell("key", key);
  tell("has", group.has_metadata("gone", &type));
  tried("write to one for reads", [&] { group.add_member("inner", true, "c"); });
  Config config;
  config["my.key"] = "mine";
  tried("configured while open", [&] { group.set_config(config); });
  group.close();
  tell("open", group.is_open());
  group.set_config(config);
  tell("configuration", group.config().get("my.key"));
  group.open(TILEDB_WRITE);
  group.remove_member("b");
  group.close();
  group.open(TILEDB_READ);
  tell("members", group.member_count());
  tell("dump", group.dump(true));
  group.close();
  Group::consolidate_metadata(ctx, uri);
  Group::vacuum_metadata(ctx, uri);
  tell("with configuration", Group(ctx, uri, TILEDB_READ, config).metadata_num());
  tried("none there", [&] { Group none(ctx, at("no-group"), TILEDB_READ); });

  ObjectIter objects(ctx, uri);
  std::set<std::string> seen;
  for (const Object& object : objects) seen.insert(told(object));
  for (const std::string& object : seen) tell("child", object);
  create_group(ctx, uri + "/inner/deep");
  objects.set_recursive(TILEDB_POSTORDER);
  objects.set_iter_policy(true, false);
  std::vector<std::string> walked;
  for (const Object& object : objects) walked.push_back(last_part(object.uri()));
  tell_all("groups below", walked);
  objects.set_iter_policy(false, true);
  tell("arrays below", std::distance(&*objects.begin(), &*objects.begin()) == 0 && objects.begin() != objects.end());
  objects.set_non_recursive();
  Object::move(ctx, uri + "/inner", uri + "/moved");
  tell("moved", Object::object(ctx, uri + "/moved").to_str());
  tell("is equal", !(Object::object(ctx, uri) != Object(TILEDB_GROUP, Object::object(ctx, uri).uri())));
  Object::remove(ctx, uri + "/moved");
  tell("removed", Object::object(ctx, uri + "/moved").type() == Object::Type::Invalid);
  tried("nothing to remove", [&] { Object::remove(ctx, uri + "/moved"); });
  Group last(ctx, uri, TILEDB_MODIFY_EXCLUSIVE);
  last.delete_group(uri, true);
  tell("deleted", Object::object(ctx, uri).type() == Object::Type::Invalid);
}

void labels() {
  area("labels");
  Context ctx;
  const std::string uri = at("labels");
  Domain domain(ctx);
  domain.add_dimension(Dimension::create<int32_t>(ctx, "x", {{1, 4}}, 4));
  ArraySchema schema(ctx, TILEDB_DENSE);
  schema.set_domain(domain).add_attribute(Attribute::create<int32_t>(ctx, "a"));
  FilterList list(ctx);
  list.add_filter({ctx, TILEDB_FILTER_ZSTD});
  ArraySchemaExperimental::add_dimension_label(
      ctx, schema, 0, "height", TILEDB_INCREASING_DATA, TILEDB_FLOAT64, std::optional(list));
  ArraySchemaExperimental::add_dimension_label(ctx, schema, 0, "name", TILEDB_INCREASING_DATA, TILEDB_STRING_ASCII);
  tried("no such dimension", [&] {
    ArraySchemaExperimental::add_dimension_label(ctx, schema, 1, "none", TILEDB_INCREASING_DATA, TILEDB_FLOAT64);
  });
  tell("has", ArraySchemaExperimental::has_dimension_label(ctx, schema, "height"));
  tell("has another", ArraySchemaExperimental::has_dimension_label(ctx, schema, "x"));
  Array::create(uri, schema);
  DimensionLabel label = ArraySchemaExperimental::dimension_label(ctx, ArraySchema(ctx, uri), "name");
  tell("name", label.name());
  tell("dimension", label.dimension_index());
  tell("attribute", label.label_attr_name());
  tell("values", label.label_cell_val_num() == TILEDB_VAR_NUM);
  tell("order", static_cast<int>(label.label_order()));
  tell("type", word(label.label_type()));
  tell("uri", label.uri());
  std::vector<double> heights{0.5, 1.5, 2.5, 3.5};
  std::string names = "figkiwipearplum";
  std::vector<uint64_t> names_at{0, 3, 7, 11};
  {
    Array array(ctx, uri, TILEDB_WRITE);
    Query query(ctx, array);
    std::vector<int32_t> a{1, 2, 3, 4};
    query.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("a", a);
    QueryExperimental::set_data_buffer(query, "height", heights);
    QueryExperimental::set_data_buffer(query, "name", names).set_offsets_buffer("name", names_at);
    tell("status", query.submit());
    tried("another type", [&] { QueryExperimental::set_data_buffer(query, "height", a); });
    tried("no such", [&] { QueryExperimental::set_data_buffer(query, "none", heights); });
  }
  Array array(ctx, uri, TILEDB_READ);
  {
    Subarray ranges(ctx, array);
    SubarrayExperimental::add_label_range(ctx, ranges, "height", 1.0, 3.0);
    tell("ranges", SubarrayExperimental::label_range_num(ctx, ranges, "height"));
    tried("merging after ranges", [&] { ranges.set_coalesce_ranges(true); });
    tell_range("range", SubarrayExperimental::label_range<double>(ctx, ranges, "height", 0));
    tried("another type", [&] { SubarrayExperimental::add_label_range<int32_t>(ctx, ranges, "height", 1, 2); });
    tried("another label", [&] {
      SubarrayExperimental::add_label_range(ctx, ranges, "name", std::string("a"), std::string("b"));
    });
    Query query(ctx, array);
    std::vector<int32_t> a(4);
    std::vector<double> read(4);
    query.set_layout(TILEDB_ROW_MAJOR).set_subarray(ranges).set_data_buffer("a", a);
    QueryExperimental::set_data_buffer(query, "height", read);
    tell("status", query.submit());
    auto counts = QueryExperimental::result_buffer_elements_labels(query);
    tell("elements", told(counts["a"].second) + told(counts["height"].second));
    a.resize(counts["a"].second);
    read.resize(counts["height"].second);
    tell_all("a", a);
    tell_all("heights", read);
  }
  Subarray ranges(ctx, array);
  SubarrayExperimental::add_label_range(ctx, ranges, "name", std::string("g"), std::string("pear"));
  tell_range("range", SubarrayExperimental::label_range(ctx, ranges, "name", 0));
  Query query(ctx, array);
  std::vector<int32_t> a(4);
  std::string read(30, ' ');
  std::vector<uint64_t> read_at(4);
  query.set_layout(TILEDB_ROW_MAJOR).set_subarray(ranges).set_data_buffer("a", a);
  QueryExperimental::set_data_buffer(query, "name", read).set_offsets_buffer("name", read_at);
  tell("status", query.submit());
  auto counts = QueryExperimental::result_buffer_elements_nullable_labels(query);
  tell("elements", told(std::get<0>(counts["name"])) + " " + told(std::get<1>(counts["name"])));
  tell("names", read.substr(0, std::get<1>(counts["name"])));
}

}  // namespace

int main(int, char** arguments) {
  folder = arguments[1];
  std::cout << std::unitbuf;
  for (auto* each : {configs, contexts, profiles, files, filters, schemas, sparse, texts, dense, conditions, aggregates,
           incomplete, metadata, enumerations, current_domains, evolution, deletes, upkeep, times, encryption, groups,
           labels}) {
    try {
      each();
    } catch (const std::exception& error) {
      std::cout << "stopped: " << placeless(error.what()) << "\n";
    }
  }
  return 0;
}
