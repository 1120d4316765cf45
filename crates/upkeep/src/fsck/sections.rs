//! The sections of a fragment's metadata, and the rectangles in them.

use super::Check;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Examined;
use super::rebuild::{Mending, ranges_of};
use super::tile_file::{Flaw, open_tile};
use smalti_array::{Fragment, field_name};
use smalti_format::fragment::{
    FragmentStatistics, ProcessedConditions, RTree as StoredTree, Section, TileBounds, TileNumbers,
};
use smalti_format::{ArraySchema, Rule};
use smalti_space::{RTree, hull};
use smalti_types::{Datatype, Error, Extent, ExtentRef, RectList, Result, Scalar};

/// The field of the footer that points to a section.
fn words(section: Section) -> (&'static str, Option<usize>, &'static str) {
    let numbers = "tile numbers";
    match section {
        Section::RTree => ("R-tree", None, "rtree"),
        Section::TileOffsets(slot) => (numbers, Some(slot), "tile_offsets"),
        Section::TileVarOffsets(slot) => (numbers, Some(slot), "tile_var_offsets"),
        Section::TileVarSizes(slot) => (numbers, Some(slot), "tile_var_sizes"),
        Section::TileValidityOffsets(slot) => (numbers, Some(slot), "tile_validity_offsets"),
        Section::TileMins(slot) => ("tile bounds", Some(slot), "tile_mins"),
        Section::TileMaxes(slot) => ("tile bounds", Some(slot), "tile_maxes"),
        Section::GlobalOrderMins(_) => ("tile bounds", None, "global_order_mins"),
        Section::GlobalOrderMaxes(_) => ("tile bounds", None, "global_order_maxes"),
        Section::TileSums(slot) => (numbers, Some(slot), "tile_sums"),
        Section::TileNullCounts(slot) => (numbers, Some(slot), "tile_null_counts"),
        Section::FragmentStatistics => ("fragment statistics", None, "fragment_statistics"),
        Section::ProcessedConditions => ("processed conditions", None, "processed_conditions"),
    }
}

/// A section in words: what it holds, and of which field.
pub(super) fn described(section: Section, fragment: &Fragment) -> String {
    let (_, slot, name) = words(section);
    let name = name.replace('_', " ");
    let shape = fragment.schema().shape();
    let of = slot.and_then(|slot| {
        super::files::fields_of(fragment)
            .into_iter()
            .find(|field| fragment.footer().slot(&shape, *field) == Some(slot))
            .map(|field| field_name(fragment.schema(), field).to_owned())
    });
    match of {
        Some(field) => format!("{name} of {field:?}"),
        None => name,
    }
}

fn decode(section: Section, payload: &[u8], fragment: &Fragment) -> Result<()> {
    // Bounds of texts may be as long as the cells: what fits is not copied to see that it does.
    let fits = match section {
        Section::TileMins(_)
        | Section::TileMaxes(_)
        | Section::GlobalOrderMins(_)
        | Section::GlobalOrderMaxes(_) => TileBounds::fits(payload),
        Section::FragmentStatistics => FragmentStatistics::fits(payload),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    match section {
        Section::RTree => {
            StoredTree::decode(payload, fragment.version(), &fragment.schema().shape()).map(drop)
        }
        Section::TileMins(_)
        | Section::TileMaxes(_)
        | Section::GlobalOrderMins(_)
        | Section::GlobalOrderMaxes(_) => TileBounds::decode(payload).map(drop),
        Section::FragmentStatistics => FragmentStatistics::decode(payload).map(drop),
        Section::ProcessedConditions => ProcessedConditions::decode(payload).map(drop),
        _ => TileNumbers::decode(payload).map(drop),
    }
}

/// What becomes of readers if a section cannot be read.
fn class_of(section: Section) -> Class {
    match section {
        Section::RTree
        | Section::TileOffsets(_)
        | Section::TileVarOffsets(_)
        | Section::TileVarSizes(_)
        | Section::TileValidityOffsets(_) => Class::Hidden,
        _ => Class::Misleading,
    }
}

impl Check<'_> {
    /// Decodes every section of a fragment's metadata.
    pub(super) fn sections(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let fragment = examined.fragment;
        if !fragment.version().has(Rule::FragmentFooter) {
            return;
        }
        let path = examined.metadata_file();
        let (sections, footer_start) = match ranges_of(fragment, examined.bytes) {
            Ok(found) => found,
            Err(error) => {
                return self.add(Finding::of_error(FindingKind::Damaged, Class::Hidden, path, &error));
            }
        };
        for (section, range) in sections {
            let (structure, _, field) = words(section);
            let shown = described(section, fragment);
            let flaw = match range {
                Ok(range) => {
                    let tile = &examined.bytes[range.clone()];
                    let opened = open_tile(self.place, tile);
                    let read = opened.and_then(|(payload, _)| {
                        decode(section, payload.as_slice(), fragment).map_err(Flaw::of)
                    });
                    read.err().map(|flaw| (range.start as u64, flaw))
                }
                Err(offset) => {
                    let message = format!(
                        "it is said to be at byte {offset}, where the footer at {footer_start} or another section is"
                    );
                    Some((offset, Flaw::Damaged(Error::corrupt(message).in_field("footer", field))))
                }
            };
            let Some((offset, flaw)) = flaw else { continue };
            let mut finding = Finding::of_error(flaw.kind(), class_of(section), path.clone(), flaw.error());
            finding.message = format!("{shown}: {}", finding.message);
            finding.structure.get_or_insert_with(|| structure.to_owned());
            finding.field.get_or_insert_with(|| field.to_owned());
            finding.byte_offset = Some(offset);
            let is_in_data = class_of(section) == Class::Misleading || section == Section::RTree;
            if is_in_data && !self.options.reads_data && flaw.is_provable() {
                finding = finding.not_mended("with --data it is made anew from the cells");
            }
            self.add(finding);
            mending.flawed(section, self.findings.len() - 1);
        }
    }

    /// Compares the rectangles of a sparse fragment with each other.
    pub(super) fn rectangles(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let fragment = examined.fragment;
        if fragment.is_dense() || fragment.version().has(Rule::UnsoundBounds) || fragment.tile_count() == 0 {
            return;
        }
        let tree = match fragment.rtree() {
            Ok(tree) => tree,
            Err(error) => {
                if mending.finding_of(Section::RTree).is_none() {
                    let path = examined.metadata_file();
                    self.add(Finding::of_error(FindingKind::TreeWrong, Class::Hidden, path, &error));
                    mending.flawed(Section::RTree, self.findings.len() - 1);
                }
                return;
            }
        };
        let schema = fragment.schema();
        let is_sound = match wrong_parent(tree, schema) {
            None => true,
            Some((level, node)) => {
                let message = format!("node {node} of level {level} does not hold all nodes below it");
                let finding =
                    Finding::new(FindingKind::TreeWrong, Class::Hidden, examined.metadata_file(), message)
                        .at("R-tree", "levels", Some(fragment.footer().rtree));
                self.add(finding);
                self.rebuild_tree(examined, mending);
                false
            }
        };
        let Some(leaves) = tree.leaves() else { return };
        let domain = fragment.non_empty_domain();
        let outside = (0..leaves.len()).find(|leaf| !covers(schema, domain, leaves, *leaf));
        if let Some(leaf) = outside {
            let message = format!("the rectangle of tile {leaf} is not in the fragment's non-empty domain");
            let finding =
                Finding::new(FindingKind::DomainWrong, Class::Hidden, examined.metadata_file(), message);
            self.add(finding.at("footer", "non_empty_domain", None));
            let idx = self.findings.len() - 1;
            match hull(leaves).filter(|_| is_sound) {
                Some(hull) => mending.set_domain(hull, idx),
                None => mending.leave_open(idx),
            }
        }
    }

    /// A tree over the rectangles of the tiles as they are stored.
    fn rebuild_tree(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let (fragment, idx) = (examined.fragment, self.findings.len() - 1);
        let shape = fragment.schema().shape();
        let stored = self
            .payload(examined, Section::RTree)
            .and_then(|payload| StoredTree::decode(&payload, fragment.version(), &shape).ok());
        let rebuilt = stored.and_then(|stored| {
            let tree = RTree::build(stored.leaves()?.clone(), stored.fanout).ok()?;
            let stored = StoredTree { fanout: stored.fanout, levels: tree.levels().to_vec() };
            stored.encode(fragment.version(), &shape).ok()
        });
        match rebuilt {
            Some(payload) => mending.replace(Section::RTree, payload, idx),
            None => mending.leave_open(idx),
        }
    }

    fn payload(&self, examined: &Examined<'_>, wanted: Section) -> Option<Vec<u8>> {
        let (sections, _) = ranges_of(examined.fragment, examined.bytes).ok()?;
        let (_, range) = sections.into_iter().find(|(section, _)| *section == wanted)?;
        let (tile, _) = open_tile(self.place, &examined.bytes[range.ok()?]).ok()?;
        Some(tile.as_slice().to_vec())
    }
}

/// The first node that does not hold all nodes below it: level and number.
fn wrong_parent(tree: &RTree, schema: &ArraySchema) -> Option<(usize, usize)> {
    let fanout = tree.fanout() as usize;
    for (level, pair) in tree.levels().windows(2).enumerate() {
        for child in 0..pair[1].len() {
            let node = child.checked_div(fanout)?;
            let parent: Vec<Extent> =
                (0..pair[0].dim_count()).map(|dim| pair[0].extent(node, dim).to_owned()).collect();
            if !covers(schema, &parent, &pair[1], child) {
                return Some((level, node));
            }
        }
    }
    None
}

fn covers(schema: &ArraySchema, outer: &[Extent], rects: &RectList, idx: usize) -> bool {
    outer.iter().enumerate().all(|(dim, outer)| {
        let datatype = schema.dimensions.get(dim).map_or(Datatype::UInt64, |dimension| dimension.datatype);
        loosened(datatype, outer).as_ref().covers(rects.extent(idx, dim))
    })
}

/// An interval of floats that ends in a zero holds both zeros: writers compare them as equal.
pub(super) fn loosened(datatype: Datatype, extent: &Extent) -> Extent {
    let &Extent::Num { mut lo, mut hi } = extent else { return extent.clone() };
    let zeros = match datatype {
        Datatype::Float32 => (Scalar::F32(-0.0), Scalar::F32(0.0)),
        Datatype::Float64 => (Scalar::F64(-0.0), Scalar::F64(0.0)),
        _ => return extent.clone(),
    };
    if lo == zeros.1.ordinal() {
        lo = zeros.0.ordinal();
    }
    if hi == zeros.0.ordinal() {
        hi = zeros.1.ordinal();
    }
    Extent::Num { lo, hi }
}

/// Whether a rectangle's side holds an interval, zeros being equal.
pub(super) fn holds(datatype: Datatype, side: ExtentRef<'_>, inner: ExtentRef<'_>) -> bool {
    loosened(datatype, &side.to_owned()).as_ref().covers(inner)
}
