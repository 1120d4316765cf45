//! Serialisation and REST, which this library has no use for: every entry returns what libtiledb returns where they are not built in.

use crate::boundary::entry::entries;
use crate::boundary::memory::Opaque as P;
use crate::context::Context;
use crate::failure::fail;

/// Makes an entry for each line, of the types of the arguments behind the context.
macro_rules! not_enabled {
    ($($name:ident($($type:ty),*);)*) => {
        entries! {
            $(fn $name(ctx $(, _: $type)*) {
                fail("[TileDB::Serialization] Error", "Cannot serialize; serialization not enabled.")
            })*
        }
    };
}

not_enabled! {
    tiledb_serialize_array(P, i32, i32, P);
    tiledb_deserialize_array(P, i32, i32, P, P);
    tiledb_serialize_array_schema(P, i32, i32, P);
    tiledb_deserialize_array_schema(P, i32, i32, P);
    tiledb_deserialize_array_create(P, i32, i32, P, P);
    tiledb_serialize_array_open(P, i32, i32, P);
    tiledb_deserialize_array_open(P, i32, i32, P);
    tiledb_serialize_array_schema_evolution(P, i32, i32, P);
    tiledb_deserialize_array_schema_evolution(P, i32, i32, P);
    tiledb_serialize_query(P, i32, i32, P);
    tiledb_deserialize_query(P, i32, i32, P);
    tiledb_deserialize_query_and_array(P, i32, i32, P, P, P);
    tiledb_serialize_array_nonempty_domain(P, P, i32, i32, i32, P);
    tiledb_deserialize_array_nonempty_domain(P, P, i32, i32, P, P);
    tiledb_serialize_array_non_empty_domain_all_dimensions(P, i32, i32, P);
    tiledb_deserialize_array_non_empty_domain_all_dimensions(P, P, i32, i32);
    tiledb_serialize_array_max_buffer_sizes(P, P, i32, P);
    tiledb_handle_array_delete_fragments_timestamps_request(P, i32, P);
    tiledb_handle_array_delete_fragments_list_request(P, i32, P);
    tiledb_serialize_array_metadata(P, i32, P);
    tiledb_deserialize_array_metadata(P, i32, P);
    tiledb_serialize_query_est_result_sizes(P, i32, i32, P);
    tiledb_deserialize_query_est_result_sizes(P, i32, i32, P);
    tiledb_serialize_config(P, i32, i32, P);
    tiledb_deserialize_config(P, i32, i32, P);
    tiledb_serialize_fragment_info_request(P, i32, i32, P);
    tiledb_deserialize_fragment_info_request(P, i32, i32, P);
    tiledb_serialize_fragment_info(P, i32, i32, P);
    tiledb_deserialize_fragment_info(P, i32, P, i32, P);
    tiledb_serialize_group(P, i32, i32, P);
    tiledb_deserialize_group(P, i32, i32, P);
    tiledb_serialize_group_metadata(P, i32, P);
    tiledb_deserialize_group_metadata(P, i32, P);
    tiledb_handle_load_array_schema_request(P, i32, P, P);
    tiledb_handle_load_enumerations_request(P, i32, P, P);
    tiledb_handle_query_plan_request(P, i32, P, P);
    tiledb_handle_consolidation_plan_request(P, i32, P, P);
}
