//! Entries that are not built yet: they say so, and do nothing.
//!
//! What stands here is counted by a test, so that the list only becomes shorter.

use crate::boundary::entry::entries;
use crate::boundary::memory::Opaque as P;
use crate::context::Context;
use crate::failure::fail;

/// Makes an entry for each line, of the types of the arguments behind the context, and the list of all.
macro_rules! unbuilt {
    ($($name:ident($($type:ty),*);)*) => {
        entries! {
            $(fn $name(ctx $(, _: $type)*) { fail("TileDB", concat!(stringify!($name), " is not built yet")) })*
        }

        /// The names of entries that are not built yet.
        #[cfg(test)]
        pub(crate) const UNBUILT: &[&str] = &[$(stringify!($name)),*];
    };
}

unbuilt! {
    tiledb_query_add_update_value(P, P, P, u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_what_is_not_built_does_not_grow() {
        assert_eq!(UNBUILT.len(), 1, "{UNBUILT:?}");
    }
}
