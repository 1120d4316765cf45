//! Fragment metadata put together anew: sections that are right as they are, others from what the data says.

use super::fragment::Examined;
use super::schemas::Schemas;
use super::tile_file::open_tile;
use smalti_array::{ArrayPlace, FieldId, Fragment, ListedFragment, Plane};
use smalti_format::fragment::{Footer, Section};
use smalti_format::names::{FRAGMENT_METADATA_FILE, TimestampedName};
use smalti_format::{GenericTileHeader, Rule, Shape};
use smalti_store::{MemoryStore, join};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, Extent, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What is to be changed in a fragment's metadata, and which findings that mends.
#[derive(Debug)]
pub(crate) struct Mending {
    payloads: BTreeMap<Section, Vec<u8>>,
    footer: Footer,
    shape: Shape,
    is_footer_changed: bool,
    /// Findings that the changes mend.
    mended: Vec<usize>,
    /// Findings of sections that cannot be read, until something mends them.
    flawed: BTreeMap<Section, usize>,
    /// Findings that nothing mends but another footer.
    open: Vec<usize>,
}

impl Mending {
    pub(crate) fn new(fragment: &Fragment) -> Self {
        Mending {
            payloads: BTreeMap::new(),
            footer: fragment.footer().clone(),
            shape: fragment.schema().shape(),
            is_footer_changed: false,
            mended: Vec::new(),
            flawed: BTreeMap::new(),
            open: Vec::new(),
        }
    }

    /// Notes that a section cannot be read.
    pub(super) fn flawed(&mut self, section: Section, finding: usize) {
        self.flawed.insert(section, finding);
    }

    /// The finding about a section that cannot be read.
    pub(super) fn finding_of(&self, section: Section) -> Option<usize> {
        self.flawed.get(&section).copied()
    }

    /// The sections that cannot be read, and that nothing mends yet.
    pub(super) fn flawed_sections(&self) -> Vec<(Section, usize)> {
        let left = self.flawed.iter().filter(|(section, _)| !self.payloads.contains_key(section));
        left.map(|(section, finding)| (*section, *finding)).collect()
    }

    /// Gives a section another content.
    pub(super) fn replace(&mut self, section: Section, payload: Vec<u8>, finding: usize) {
        self.payloads.insert(section, payload);
        self.mended.push(finding);
    }

    /// As [`replace`](Mending::replace), for no finding.
    pub(crate) fn put(&mut self, section: Section, payload: Vec<u8>) {
        self.payloads.insert(section, payload);
    }

    /// Gives a file another length, which mends a finding.
    pub(super) fn set_file_len(&mut self, field: FieldId, plane: Plane, byte_len: u64, finding: usize) {
        if self.set_byte_len(field, plane, byte_len) {
            self.mended.push(finding);
        }
    }

    /// Gives a sparse fragment another number of tiles, the last one of so many cells.
    pub(crate) fn set_tile_count(&mut self, tile_count: u64, last_tile_cell_count: Option<u64>) {
        self.footer.sparse_tile_count = tile_count;
        self.footer.last_tile_cell_count = last_tile_cell_count.unwrap_or(self.footer.last_tile_cell_count);
        self.is_footer_changed = true;
    }

    /// Gives a file another length; whether the fragment has such a file.
    pub(crate) fn set_byte_len(&mut self, field: FieldId, plane: Plane, byte_len: u64) -> bool {
        let slot = self.footer.slot(&self.shape, field);
        let list = match plane {
            Plane::Fixed => &mut self.footer.file_sizes,
            Plane::Var => &mut self.footer.file_var_sizes,
            Plane::Validity => &mut self.footer.file_validity_sizes,
        };
        let Some(entry) = slot.and_then(|slot| list.get_mut(slot)) else { return false };
        *entry = byte_len;
        self.is_footer_changed = true;
        true
    }

    /// Gives the fragment another non-empty domain.
    pub(super) fn set_domain(&mut self, domain: Vec<Extent>, finding: usize) {
        self.footer.non_empty_domain = Some(domain.into());
        self.is_footer_changed = true;
        self.mended.push(finding);
    }

    /// Notes a finding that only another footer can mend.
    pub(super) fn leave_open(&mut self, finding: usize) {
        self.open.push(finding);
    }

    pub(super) fn wants_change(&self) -> bool {
        self.is_footer_changed || !self.payloads.is_empty()
    }

    /// The findings that the changes mend.
    pub(super) fn candidates(&self) -> impl Iterator<Item = usize> + '_ {
        self.mended.iter().copied()
    }

    /// The findings that the changes do not mend.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.open.iter().copied()
    }
}

/// The sections of a fragment's metadata, each with its bytes, up to the next one or the footer; or with the offset that
/// cannot be. Where the footer starts, too.
///
/// # Errors
/// `Corrupt` when the footer contradicts itself.
pub(super) fn ranges_of(
    fragment: &Fragment,
    bytes: &[u8],
) -> Result<(Vec<(Section, Result<Range<usize>, u64>)>, u64)> {
    let shape = fragment.schema().shape();
    let footer = Footer::range(fragment.version(), &shape, bytes.len() as u64, bytes)?;
    let mut sections = fragment.footer().sections(&shape)?;
    sections.sort_by_key(|(_, offset)| *offset);
    let ranges = sections.iter().enumerate().map(|(idx, &(section, offset))| {
        let next = sections.get(idx + 1).map_or(footer.start, |(_, next)| *next).min(footer.start);
        let is_shared = idx > 0 && sections[idx - 1].1 == offset;
        let range = usize::try_from(offset).ok().zip(usize::try_from(next).ok());
        let range = range.filter(|(start, end)| start < end && *end <= bytes.len() && !is_shared);
        (section, range.map(|(start, end)| start..end).ok_or(offset))
    });
    Ok((ranges.collect(), footer.start))
}

/// The metadata file with all changes; `None` where the sections cannot be told apart.
pub(crate) fn assemble(examined: &Examined<'_>, mending: &Mending, place: &ArrayPlace) -> Option<Vec<u8>> {
    let fragment = examined.fragment;
    if !fragment.version().has(Rule::FragmentFooter) {
        return None;
    }
    let shape = fragment.schema().shape();
    let (sections, _) = ranges_of(fragment, examined.bytes).ok()?;
    let mut footer = mending.footer.clone();
    let dim_count = shape.dimensions.len();
    let (mut mins, mut maxes) = (vec![0; dim_count], vec![0; dim_count]);
    let mut has_global_order = false;
    let first = sections.iter().find_map(|(_, range)| range.as_ref().ok()).map_or(0, |range| range.start);
    let mut file = examined.bytes.get(..first)?.to_vec();
    for (section, range) in sections {
        let offset = file.len() as u64;
        match mending.payloads.get(&section) {
            Some(payload) => {
                let (version, cipher) = (fragment.version(), place.cipher());
                write_generic_tile(payload, version, cipher, &mut file, &mut Scratch::new()).ok()?;
            }
            None => file.extend(examined.bytes.get(range.ok()?)?),
        }
        match section {
            Section::GlobalOrderMins(dim) => {
                has_global_order = true;
                *mins.get_mut(dim)? = offset;
            }
            Section::GlobalOrderMaxes(dim) => *maxes.get_mut(dim)? = offset,
            section => footer.set_section_offset(section, offset),
        }
    }
    if has_global_order {
        footer.set_global_order_offsets(mins, maxes, &shape).ok()?;
    }
    file.extend(footer.encode_file_end(&shape).ok()?);
    Some(file)
}

/// The sections at the start of a metadata file with the footer of a copy, if all sections that it points to are there.
pub(super) fn with_footer(bytes: &[u8], copy: &[u8], shape: &Shape) -> Option<Vec<u8>> {
    let footer = Footer::decode_from(&mut smalti_format::Reader::new(copy), shape).ok()?;
    let mut end = 0;
    for (_, offset) in footer.sections(shape).ok()? {
        let start = usize::try_from(offset).ok()?;
        let tile = bytes.get(start..)?;
        let (_, filtered) = GenericTileHeader::split(tile).ok()?;
        let header_len = usize::try_from(GenericTileHeader::header_len(tile).ok()?).ok()?;
        end = end.max(start.checked_add(header_len)?.checked_add(filtered.len())?);
    }
    let mut file = bytes.get(..end)?.to_vec();
    file.extend(footer.encode_file_end(shape).ok()?);
    Some(file)
}

/// Whether a metadata file opens as a fragment's, with all its sections and offsets.
pub(super) fn verify(
    place: &ArrayPlace,
    name: &TimestampedName,
    folder: &str,
    bytes: &[u8],
    schemas: &Schemas,
) -> bool {
    let folder = place.join(folder);
    let open = || -> Result<()> {
        let file = (join(&folder, FRAGMENT_METADATA_FILE), bytes.to_vec());
        let store = Arc::new(MemoryStore::from_files([file])?);
        let key = place.cipher().map(|cipher| cipher.key.clone());
        let place = ArrayPlace::in_store(store, place.path().to_owned(), key, place.env().clone());
        let listed = ListedFragment::named(name.clone())?;
        let fragment = Fragment::open_alone(&place, &listed, |wanted| schemas.find(wanted))?;
        let (sections, _) = ranges_of(&fragment, bytes)?;
        for (section, range) in sections {
            let range = range.map_err(|_| Error::corrupt(format!("{section:?} is nowhere")))?;
            open_tile(&place, &bytes[range]).map_err(|flaw| flaw.error().clone())?;
        }
        if fragment.tile_count() > 0 {
            for file in super::files::data_files_of(&fragment) {
                fragment.tile_place(file.field, file.plane, 0)?;
            }
        }
        if !fragment.is_dense() {
            fragment.rtree()?;
        }
        Ok(())
    };
    open().is_ok()
}
