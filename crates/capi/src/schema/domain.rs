//! Domains: lists of dimensions.

use super::dump;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::{Shared, kinds, seen};
use crate::boundary::{In, New, Out, Text};
use crate::context::Context;
use crate::failure::fail;
use crate::text::TextHandle;
use crate::values::{index, small_count};
use smalti::format::Dimension;
use std::sync::{Arc, RwLock};

/// The dimensions of a domain; handles on a dimension share it, so that what is changed later is changed here, too.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dimensions(Vec<Shared<Dimension>>);

kinds! { Dimensions => "domain" }

impl Dimensions {
    /// A domain of dimensions.
    pub(crate) fn of(dimensions: &[Dimension]) -> Dimensions {
        Dimensions(dimensions.iter().map(|dimension| Arc::new(RwLock::new(dimension.clone()))).collect())
    }

    /// The dimensions as they are now.
    pub(crate) fn list(&self) -> Vec<Dimension> {
        self.0.iter().map(|dimension| seen(dimension).clone()).collect()
    }
}

entries! {
    fn tiledb_domain_alloc(ctx, domain: New<Dimensions>) {
        domain.put(Dimensions::default())
    }

    fn tiledb_domain_get_type(ctx, domain: In<Dimensions>, kind: Out<i32>) {
        let domain = domain.read()?.list();
        kind.check()?;
        let Some(first) = domain.first() else {
            return fail("C API", "Cannot get domain type; Domain has no dimensions");
        };
        if domain.iter().any(|dimension| dimension.datatype != first.datatype) {
            return fail("C API", "Cannot get domain type; Not applicable to heterogeneous dimensions");
        }
        kind.put(first.datatype.tag().into())
    }

    fn tiledb_domain_get_ndim(ctx, domain: In<Dimensions>, ndim: Out<u32>) {
        ndim.put(small_count(domain.read()?.0.len()))
    }

    fn tiledb_domain_add_dimension(ctx, domain: In<Dimensions>, dim: In<Dimension>) {
        let dimension = dim.share()?;
        domain.write()?.0.push(dimension);
        Ok(())
    }

    fn tiledb_domain_get_dimension_from_index(
        ctx,
        domain: In<Dimensions>,
        number: u32,
        dim: New<Dimension>,
    ) {
        let domain = domain.read()?;
        dim.check()?;
        if domain.0.is_empty() && number == 0 {
            return dim.put_null();
        }
        match domain.0.get(index(number)) {
            Some(found) => dim.put_shared(Arc::clone(found)),
            None => {
                let last = domain.0.len().saturating_sub(1);
                let words = format!("is out of bounds; valid indices are 0 to {last}");
                fail("C API", format!("Dimension index {number} {words}"))
            }
        }
    }

    fn tiledb_domain_get_dimension_from_name(
        ctx,
        domain: In<Dimensions>,
        name: Text,
        dim: New<Dimension>,
    ) {
        let domain = domain.read()?;
        dim.check()?;
        let name = name.get("name")?;
        if domain.0.is_empty() {
            return dim.put_null();
        }
        match domain.0.iter().find(|dimension| seen(dimension).name == name) {
            Some(found) => dim.put_shared(Arc::clone(found)),
            None => Err(super::dimension::missing(name)),
        }
    }

    fn tiledb_domain_has_dimension(ctx, domain: In<Dimensions>, name: Text, has_dim: Out<i32>) {
        let name = name.get("name")?;
        has_dim.put(i32::from(domain.read()?.0.iter().any(|dimension| seen(dimension).name == name)))
    }

    fn tiledb_domain_dump_str(ctx, domain: In<Dimensions>, out: New<TextHandle>) {
        out.put(TextHandle(dump::domain(&domain.read()?.list())))
    }
}

free_entries! { tiledb_domain_free: Dimensions }
