//! What opening an array needs of the footers of its fragments.

use super::footer::{FooterHead, NonEmptyDomain};
use super::{Footer, Sides, surroundings};
use crate::leaf::Bool8;
use crate::record::{Cx, Leaf, Record, Shape};
use crate::{Reader, Rule, Version};
use smalti_types::Result;

/// What a footer says of its fragment, without the lists with one number a field: enough to open an array.
#[derive(Debug, Clone, PartialEq)]
pub struct FooterOutline {
    /// The format version of the fragment.
    pub version: Version,
    /// Whether the fragment is dense.
    pub is_dense: bool,
    /// The least rectangle around all cells.
    pub non_empty_domain: Option<Sides>,
    /// The number of tiles of a sparse fragment.
    pub sparse_tile_count: u64,
    /// Cells in the last tile of a sparse fragment.
    pub last_tile_cell_count: u64,
    /// Whether the fragment holds the time of each cell.
    pub includes_timestamps: bool,
    /// Whether the fragment holds deleted cells, with time and condition.
    pub includes_delete_metadata: bool,
}

impl FooterOutline {
    /// Reads the outline of a footer that fills `bytes`. It succeeds just where [`Footer::decode`] does.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(bytes: &[u8], shape: &Shape) -> Result<FooterOutline> {
        Footer::decode_whole(&mut Reader::skimming(bytes), shape).map(FooterOutline::from)
    }

    /// The rows of the footer from `is_dense` on, as far as the outline has them.
    fn read_rows(reader: &mut Reader<'_>, version: Version, shape: &Shape) -> Result<FooterOutline> {
        let cx = surroundings(version, shape);
        let flag = |reader: &mut Reader<'_>, rule| match version.has(rule) {
            true => Bool8.read(reader, &cx),
            false => Ok(false),
        };
        Ok(FooterOutline {
            version,
            is_dense: Bool8.read(reader, &cx)?,
            non_empty_domain: NonEmptyDomain.read(reader, &cx)?,
            sparse_tile_count: reader.u64()?,
            last_tile_cell_count: reader.u64()?,
            includes_timestamps: flag(reader, Rule::TimestampsFlag)?,
            includes_delete_metadata: flag(reader, Rule::DeleteMetadata)?,
        })
    }
}

impl From<Footer> for FooterOutline {
    fn from(footer: Footer) -> Self {
        FooterOutline {
            version: footer.version,
            is_dense: footer.is_dense,
            non_empty_domain: footer.non_empty_domain,
            sparse_tile_count: footer.sparse_tile_count,
            last_tile_cell_count: footer.last_tile_cell_count,
            includes_timestamps: footer.includes_timestamps,
            includes_delete_metadata: footer.includes_delete_metadata,
        }
    }
}

/// What footers have in common that were written in one version, with one schema, and with the same fields: after one was
/// read row by row, of the others only the rows of the outline are.
#[derive(Debug, Clone)]
pub struct FooterForm {
    version: Version,
    /// The bytes of the version and of the schema's name.
    head: Box<[u8]>,
    includes_timestamps: bool,
    includes_delete_metadata: bool,
    /// Bytes behind the rows that an outline has: numbers of which each may have any value.
    rest_byte_len: u64,
}

impl FooterForm {
    /// The form of a footer that [`FooterOutline::decode`] has read. `None` where footers have parts whose lengths differ
    /// from one to the next: optional sections.
    pub fn of(bytes: &[u8], shape: &Shape) -> Option<FooterForm> {
        let mut reader = Reader::new(bytes);
        let version = FooterHead::read(&mut reader, &Cx::unversioned()).ok()?.version;
        if version.has(Rule::OptionalSections) {
            return None;
        }
        let head = bytes.strip_suffix(reader.rest())?.into();
        let outline = FooterOutline::read_rows(&mut reader, version, shape).ok()?;
        let FooterOutline { includes_timestamps, includes_delete_metadata, .. } = outline;
        let rest_byte_len = reader.remaining();
        Some(FooterForm { version, head, includes_timestamps, includes_delete_metadata, rest_byte_len })
    }

    /// The outline of a footer of this form; `None` for others, and for damaged ones. The shape is that of the schema which the
    /// footer of the form names.
    pub fn outline(&self, bytes: &[u8], shape: &Shape) -> Option<FooterOutline> {
        let mut reader = Reader::new(bytes.strip_prefix(&*self.head)?);
        let outline = FooterOutline::read_rows(&mut reader, self.version, shape).ok()?;
        let is_alike = outline.includes_timestamps == self.includes_timestamps
            && outline.includes_delete_metadata == self.includes_delete_metadata
            && reader.remaining() == self.rest_byte_len;
        is_alike.then_some(outline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::FieldNumbers;
    use crate::record::DimensionShape;
    use smalti_types::{Datatype, Extent};

    fn shapes() -> [Shape; 2] {
        let dimension = |datatype, is_var| DimensionShape { datatype, is_var };
        let fixed = vec![dimension(Datatype::Int64, false), dimension(Datatype::Float32, false)];
        let texts = vec![dimension(Datatype::StringAscii, true)];
        [Shape { dimensions: fixed, attribute_count: 2 }, Shape { dimensions: texts, attribute_count: 1 }]
    }

    /// The bytes of a footer whose numbers are all `number`.
    fn footer(version: Version, shape: &Shape, has_time_fields: bool, number: u8) -> Vec<u8> {
        let side = |dimension: &DimensionShape| match dimension.is_var {
            true => Extent::Str { lo: Box::default(), hi: Some(vec![b'b'; number.into()].into()) },
            false => Extent::Num { lo: 0, hi: number.into() },
        };
        let mut footer =
            Footer::new(version, "__1_2_0123456789abcdef0123456789abcdef", number.is_multiple_of(2));
        footer.includes_timestamps = has_time_fields && version.has(Rule::TimestampsFlag);
        footer.includes_delete_metadata = has_time_fields && version.has(Rule::DeleteMetadata);
        footer.non_empty_domain = Some(shape.dimensions.iter().map(side).collect());
        (footer.sparse_tile_count, footer.last_tile_cell_count) = (number.into(), number.into());
        let per_field = FieldNumbers::from_elem(number.into(), footer.slot_count(shape));
        let per_var_field = match version.has(Rule::DimensionFiles) {
            true => per_field.clone(),
            false => FieldNumbers::from_elem(number.into(), shape.attribute_count),
        };
        for list in [&mut footer.file_var_sizes, &mut footer.tile_var_offsets, &mut footer.tile_var_sizes] {
            *list = per_var_field.clone();
        }
        (footer.file_sizes, footer.tile_offsets) = (per_field.clone(), per_field.clone());
        if version.number() >= 7 {
            (footer.file_validity_sizes, footer.tile_validity_offsets) =
                (per_field.clone(), per_field.clone());
        }
        if version.has(Rule::TileStatistics) {
            (footer.tile_mins, footer.tile_maxes) = (per_field.clone(), per_field.clone());
            (footer.tile_sums, footer.tile_null_counts) = (per_field.clone(), per_field);
        }
        if !version.has(Rule::FooterLength) {
            footer.schema_name = crate::names::OLD_SCHEMA_FILE.to_owned();
        }
        footer.encode(shape).unwrap()
    }

    #[test]
    fn footers_of_a_form_are_read_as_row_by_row_and_no_others_are() {
        let mut counts = [0, 0];
        for version in Version::all().filter(|version| version.has(Rule::FragmentFooter)) {
            for (shape, has_time_fields) in shapes().iter().flat_map(|shape| [(shape, false), (shape, true)])
            {
                let first = footer(version, shape, has_time_fields, 2);
                let form = FooterForm::of(&first, shape);
                if version.has(Rule::OptionalSections) {
                    assert!(form.is_none());
                    continue;
                }
                let form = form.unwrap();
                for number in [0, 2, 7] {
                    let other = footer(version, shape, has_time_fields, number);
                    let outline = FooterOutline::decode(&other, shape).unwrap();
                    assert_eq!(form.outline(&other, shape), Some(outline), "{version}");
                    // Cut short, with a byte behind it, or with a byte that differs.
                    let mut damaged: Vec<Vec<u8>> =
                        (0..other.len()).map(|len| other[..len].to_vec()).collect();
                    damaged.push([&other[..], &[0]].concat());
                    damaged.extend((0..other.len()).map(|at| {
                        let mut bytes = other.clone();
                        bytes[at] ^= 1;
                        bytes
                    }));
                    for bytes in damaged {
                        let quick = form.outline(&bytes, shape);
                        counts[usize::from(quick.is_some())] += 1;
                        if quick.is_some() {
                            assert_eq!(quick, FooterOutline::decode(&bytes, shape).ok(), "{version}");
                        }
                    }
                }
                if !has_time_fields && version.has(Rule::TimestampsFlag) {
                    assert_eq!(form.outline(&footer(version, shape, true, 2), shape), None, "{version}");
                }
            }
        }
        assert!(counts[0] > 1000 && counts[1] > 1000, "{counts:?}");
    }
}
