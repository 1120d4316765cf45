//! What is known of the fragments of an array.

mod domains;
mod dump;
mod entries;

use crate::boundary::handle::kinds;
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::schema::SchemaHandle;
use crate::uris;
use crate::values::index;
use smalti::upkeep::VacuumOptions;
use smalti::{Array, Fragment};

/// What failures here are told by.
const ORIGIN: &str = "FragmentInfo";

/// Fragments of an array, once they are loaded.
#[derive(Debug)]
pub(crate) struct FragmentInfo {
    uri: String,
    config: Config,
    loaded: Option<Loaded>,
}

/// What a load finds.
#[derive(Debug)]
struct Loaded {
    schema: SchemaHandle,
    fragments: Vec<Fragment>,
    /// URIs of fragments that a vacuum would remove.
    to_vacuum: Vec<String>,
}

kinds! { FragmentInfo => "fragment_info" }

impl FragmentInfo {
    fn load(&mut self, ctx: &Context) -> Fallible<()> {
        let options = ctx.options(Some(&self.config))?;
        let mut array =
            Array::open_with(&uris::inner(&self.uri), &options).map_err(Failure::of_opening(ORIGIN))?;
        let fragments = array.fragments().map_err(Failure::of(ORIGIN))?;
        let dry = VacuumOptions { is_dry_run: true, ignores_readers: true, ..VacuumOptions::default() };
        let gone = array.vacuum(&dry).map_err(Failure::of(ORIGIN))?.fragments;
        let to_vacuum = gone.iter().map(|name| self.uri_of(name)).collect();
        let schema = SchemaHandle::of_array(&array);
        self.loaded = Some(Loaded { schema, fragments, to_vacuum });
        Ok(())
    }

    fn uri_of(&self, name: &str) -> String {
        format!("{}/__fragments/{name}", uris::shown(&self.uri).trim_end_matches('/'))
    }

    fn loaded(&self) -> Fallible<&Loaded> {
        self.loaded.as_ref().ok_or_else(|| Failure::told(ORIGIN, "Fragment info has not been loaded."))
    }

    fn fragment(&self, fid: u32, what: &str) -> Fallible<&Fragment> {
        match self.loaded()?.fragments.get(index(fid)) {
            Some(found) => Ok(found),
            None => fail(ORIGIN, format!("{what}; Invalid fragment index")),
        }
    }

    /// Cells of a fragment; of a dense one those of its tiles, as libtiledb counts.
    fn cells(&self, fragment: &Fragment) -> Fallible<u64> {
        if !fragment.is_dense() {
            return Ok(fragment.cell_count().unwrap_or(0));
        }
        let dimensions = &self.loaded()?.schema.schema.dimensions;
        let extents = dimensions.iter().map(|dimension| dimension.extent_len().unwrap_or(1));
        Ok(extents.fold(fragment.tile_count(), u64::saturating_mul))
    }

    fn dimension_idx(&self, name: &str, what: &str) -> Fallible<u32> {
        let dimensions = &self.loaded()?.schema.schema.dimensions;
        let found = dimensions.iter().position(|dimension| dimension.name == name);
        match found.and_then(|idx| u32::try_from(idx).ok()) {
            Some(idx) => Ok(idx),
            None => fail(ORIGIN, format!("{what}; Invalid dimension name '{name}'")),
        }
    }
}
