//! Structures of metadata from their bytes.

use crate::case::{Case, Outcome, Work, case, work};
use crate::input;
use smalti::{Attribute, Dimension, Schema};
use smalti_format::fragment::{Footer, RTree, TileBounds, TileNumbers};
use smalti_format::{ArraySchema, Version};
use smalti_space::RTree as Tree;
use smalti_types::{Extent, Filter, RectList, Scalar};
use std::hint::black_box;

const ATTRIBUTE_COUNT: usize = 20;
const TILE_COUNT: usize = 2000;

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("schema-parsed", || {
            let bytes = schema()?.encode()?;
            work(move || {
                black_box(ArraySchema::decode(&bytes)?);
                Ok(())
            })
        }),
        case("fragment-footer-parsed", footer),
        case("fragment-tree-parsed", tree),
        case("fragment-tiles-parsed", || {
            let numbers = TileNumbers { values: input::numbers(41, TILE_COUNT, 1 << 40) }.encode();
            let names: Vec<String> = (0..TILE_COUNT).map(|tile| format!("station-{tile:05}")).collect();
            let bounds = TileBounds::of_strings(names.iter().map(String::as_bytes)).encode();
            work(move || {
                black_box((TileNumbers::decode(&numbers)?, TileBounds::decode(&bounds)?));
                Ok(())
            })
        }),
    ]
}

fn schema() -> Outcome<Schema> {
    let dimension = |name: &str| Dimension::new(name, 0..=999_999_i64).tile(1000_i64);
    let attribute = |idx: usize| {
        let filters = [Filter::byteshuffle(), Filter::zstd(3)];
        Attribute::of::<f64>(format!("channel-{idx:02}")).nullable().filters(filters)
    };
    let schema = Schema::sparse().dimension(dimension("x")).dimension(dimension("y"));
    Ok((0..ATTRIBUTE_COUNT).map(attribute).fold(schema, |schema, one| schema.attribute(one)).build()?)
}

/// A rectangle of the tile.
fn rectangle(tile: usize) -> Outcome<[Extent; 2]> {
    let side = |lo: i64| Extent::between(Scalar::I64(lo), Scalar::I64(lo + 99));
    Ok([side(tile as i64 * 100)?, side(tile as i64 % 40 * 100)?])
}

fn footer() -> Outcome<Work> {
    let shape = schema()?.shape();
    let schema_name = "__1700000000000_1700000000000_00000000000000000000000000000001";
    let mut footer = Footer {
        non_empty_domain: Some(rectangle(7)?.to_vec().into()),
        sparse_tile_count: TILE_COUNT as u64,
        last_tile_cell_count: 77,
        fragment_statistics: 1 << 20,
        processed_conditions: 1 << 21,
        ..Footer::new(Version::DEFAULT, schema_name, false)
    };
    let places = input::numbers(42, footer.slot_count(&shape), 1 << 20);
    for list in [
        &mut footer.file_sizes,
        &mut footer.file_var_sizes,
        &mut footer.file_validity_sizes,
        &mut footer.tile_offsets,
        &mut footer.tile_var_offsets,
        &mut footer.tile_var_sizes,
        &mut footer.tile_validity_offsets,
        &mut footer.tile_mins,
        &mut footer.tile_maxes,
        &mut footer.tile_sums,
        &mut footer.tile_null_counts,
    ] {
        list.extend_from_slice(&places);
    }
    let bytes = footer.encode(&shape)?;
    work(move || {
        black_box(Footer::decode(&bytes, &shape)?);
        Ok(())
    })
}

fn tree() -> Outcome<Work> {
    let shape = schema()?.shape();
    let mut rectangles = RectList::new(shape.string_dimensions());
    (0..TILE_COUNT).try_for_each(|tile| -> Outcome { Ok(rectangles.push(&rectangle(tile)?)?) })?;
    let tree = Tree::build(rectangles, Tree::FANOUT)?;
    let tree = RTree { fanout: tree.fanout(), levels: tree.levels().to_vec() };
    let bytes = tree.encode(Version::DEFAULT, &shape)?;
    work(move || {
        black_box(RTree::decode(&bytes, Version::DEFAULT, &shape)?);
        Ok(())
    })
}
