//! Data files: the tiles of a field, at the offsets that the fragment's metadata gives.

use super::chunks::{self, Meaning, Window};
use super::inspector::{Inspector, above};
use super::output::{Output, field};
use crate::listing::schema_files;
use crate::{Fragment, ListedFragment, Plane, field_filters, field_name};
use smalti_codecs::{Codec, FieldKind};
use smalti_format::fragment::FieldId;
use smalti_format::names::{self, FRAGMENTS_FOLDER, OLD_SCHEMA_FILE, TimestampedName};
use smalti_format::{ArraySchema, TraceDetail};
use smalti_store::split;
use smalti_tile::codec_rules;
use smalti_types::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Tiles that a folded inspection lists.
const MAX_LISTED_TILES: usize = 8;

/// What a data file holds, as the fragment's metadata says.
struct Content {
    fragment: Fragment,
    field: FieldId,
    plane: Plane,
    codec: Option<Codec>,
}

pub(super) fn explain(inspector: &Inspector, output: &mut Output<'_>) -> Result<()> {
    let mut window = Window::of(&inspector.file, inspector.byte_len);
    let mut tiles = Tiles { folded: None, listed: 0 };
    match content(inspector) {
        Ok(content) => {
            let tile_count = usize::try_from(content.fragment.tile_count()).unwrap_or(usize::MAX);
            for tile_idx in 0..tile_count {
                let place = content.fragment.tile_place(content.field, content.plane, tile_idx)?;
                let range = place.start..place.end.min(inspector.byte_len);
                if range.is_empty() {
                    continue;
                }
                let title = format!("tile {tile_idx}: {}", content.describe());
                tiles.next(
                    &mut window,
                    range,
                    &title,
                    &content.meaning(tile_idx),
                    content.codec.as_ref(),
                    output,
                )?;
            }
        }
        Err(error) => {
            // Chunk headers alone say where tiles end.
            let why = error.message().to_owned();
            let mut tile_idx = 0;
            while output.end().max(tiles.end()) < inspector.byte_len {
                let start = output.end().max(tiles.end());
                let why = if tile_idx == 0 { format!(": {why}") } else { String::new() };
                let title = format!("tile {tile_idx} of a field that cannot be told{why}");
                let meaning =
                    |range: Range<u64>| format!("bytes {} to {} of the tile", range.start, range.end);
                if !tiles.next(&mut window, start..inspector.byte_len, &title, &meaning, None, output)? {
                    break;
                }
                tile_idx += 1;
            }
        }
    }
    tiles.flush(output)
}

/// The account of tiles that are not listed one by one.
struct Tiles {
    folded: Option<(Range<u64>, usize)>,
    listed: usize,
}

impl Tiles {
    /// Where the folded tiles end.
    fn end(&self) -> u64 {
        self.folded.as_ref().map_or(0, |(range, _)| range.end)
    }

    /// Explains a tile somewhere in some bytes of the file; whether it is whole.
    fn next(
        &mut self,
        window: &mut Window<'_>,
        range: Range<u64>,
        title: &str,
        of_range: &dyn Fn(Range<u64>) -> String,
        codec: Option<&Codec>,
        output: &mut Output<'_>,
    ) -> Result<bool> {
        let start = range.start;
        let tile = chunks::explain(window, range, &Meaning { of_range, codec }, output.detail);
        let is_whole = tile.damage.is_none();
        let is_listed = output.detail == TraceDetail::Full || self.listed < MAX_LISTED_TILES || !is_whole;
        let follows = self.folded.as_ref().is_none_or(|(folded, _)| folded.end == start);
        if is_listed || !follows {
            self.flush(output)?;
        }
        if is_listed {
            self.listed += 1;
            output.in_file(title, None, start..tile.end, tile.fields)?;
        } else {
            let (folded, count) = self.folded.get_or_insert((start..start, 0));
            folded.end = tile.end;
            *count += 1;
        }
        if let Some(error) = tile.damage {
            output.damaged(error.context(title));
        }
        Ok(is_whole)
    }

    fn flush(&mut self, output: &mut Output<'_>) -> Result<()> {
        let Some((range, count)) = self.folded.take() else { return Ok(()) };
        let doc = "Tiles like those above.";
        let fields = vec![field("tile", "tiles", "as above", doc, range.clone(), format!("{count} more"))];
        output.in_file(format!("{count} more tiles"), None, range, fields)
    }
}

/// Opens the fragment that the file lies in.
fn content(inspector: &Inspector) -> Result<Content> {
    let folder_uri = inspector.folder();
    let name = TimestampedName::parse(names::last_part(folder_uri))?;
    let version = name.fragment_version()?;
    let array = inspector.array_at(above(split(folder_uri).0, FRAGMENTS_FOLDER))?;
    let files = schema_files(&array)?;
    let schema_of = |wanted: &str| -> Result<Arc<ArraySchema>> {
        let is_wanted = |name: &Option<TimestampedName>| {
            name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str) == wanted
        };
        let (_, path) = files
            .iter()
            .find(|(name, _)| is_wanted(name))
            .ok_or_else(|| Error::corrupt(format!("the schema {wanted:?} is missing")))?;
        ArraySchema::decode(array.read_tile_file(path)?.as_slice()).map(Arc::new)
    };
    let fragment = Fragment::open_alone(&array, &ListedFragment { name, version }, schema_of)?;
    let schema = Arc::clone(fragment.schema());
    let attributes = (0..schema.attributes.len()).map(FieldId::Attribute);
    let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
    let others =
        [FieldId::Coordinates, FieldId::Timestamps, FieldId::DeleteTimestamps, FieldId::DeleteConditionIndex];
    let file_name = split(&inspector.address).1;
    for field in attributes.chain(dimensions).chain(others).filter(|field| fragment.has_field(*field)) {
        for plane in [Plane::Fixed, Plane::Var, Plane::Validity] {
            let path = fragment.data_file(field, plane)?;
            if names::last_part(&path) == file_name {
                let codec = codec(inspector, &fragment, field, plane).ok();
                return Ok(Content { fragment, field, plane, codec });
            }
        }
    }
    Err(Error::corrupt("the fragment has no field with such a file"))
}

/// The filters of a field's tiles.
fn codec(inspector: &Inspector, fragment: &Fragment, field: FieldId, plane: Plane) -> Result<Codec> {
    let shape = fragment.field_shape(field)?;
    let schema = fragment.schema();
    let filters = field_filters(schema, fragment.version(), field)?;
    let images = match field {
        FieldId::Attribute(idx) => {
            schema.attributes.get(idx).and_then(|attribute| schema.image_filters(attribute))
        }
        _ => None,
    };
    let (pipeline, kind) = match plane {
        Plane::Validity => (filters.validity, FieldKind::validity()),
        Plane::Fixed if shape.is_var() => (filters.offsets, FieldKind::offsets()),
        _ => {
            let kind = FieldKind::data(shape.datatype, shape.cell_val_num);
            (images.as_ref().unwrap_or(filters.data), kind)
        }
    };
    Codec::new(pipeline, kind, codec_rules(fragment.version()), inspector.file.cipher())
}

impl Content {
    fn describe(&self) -> String {
        let name = field_name(self.fragment.schema(), self.field);
        let is_var = self.fragment.field_shape(self.field).is_ok_and(|shape| shape.is_var());
        let what = match self.plane {
            Plane::Fixed if is_var => "offsets",
            Plane::Fixed => "values",
            Plane::Var => "values of any length",
            Plane::Validity => "validity",
        };
        match self.field {
            FieldId::Attribute(_) => format!("{what} of attribute {name:?}"),
            FieldId::Dimension(_) => format!("{what} of dimension {name:?}"),
            FieldId::Coordinates if self.fragment.zips_coordinates() => "coordinates, cell by cell".into(),
            FieldId::Coordinates => "coordinates, dimension by dimension".into(),
            FieldId::Timestamps => "the time of each cell".into(),
            FieldId::DeleteTimestamps => "the time at which each cell was deleted".into(),
            FieldId::DeleteConditionIndex => "the condition that deleted each cell".into(),
        }
    }

    /// What some unfiltered bytes of a tile hold.
    fn meaning(&self, tile_idx: usize) -> impl Fn(Range<u64>) -> String {
        let shape = self.fragment.field_shape(self.field).ok();
        let cell_byte_len = match (self.plane, shape) {
            (Plane::Validity, _) => Some(1),
            (Plane::Fixed, Some(shape)) if shape.is_var() => Some(8),
            (Plane::Fixed, Some(shape))
                if self.field != FieldId::Coordinates || self.fragment.zips_coordinates() =>
            {
                Some(shape.cell_byte_len() as u64)
            }
            _ => None,
        };
        move |range| match cell_byte_len {
            Some(len @ 1..) if range.start % len == 0 && range.end % len == 0 => {
                format!("cells {} to {} of tile {tile_idx}", range.start / len, range.end / len)
            }
            _ => format!("bytes {} to {} of tile {tile_idx}", range.start, range.end),
        }
    }
}
