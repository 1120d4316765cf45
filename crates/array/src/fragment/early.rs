//! What of a fragment's metadata a read asks a distant store for, before it needs it.

use super::Fragment;
use smalti_format::Rule;
use smalti_format::fragment::{FieldId, Section};
use smalti_store::{Answer, ByteRange, Request};
use smalti_types::Result;
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// What the header of a section fits in.
const HEADER_BYTE_LEN: u64 = 1 << 10;

impl Fragment {
    /// Whether the footer tells all that a reader of the cells of some fields needs to know of the metadata: of a fragment with a single tile,
    /// whose file begins where the tile does, and of values that all have the same length.
    fn stands_alone(&self, fields: &[FieldId]) -> bool {
        let outline = &self.outline;
        // What was merged, or deleted from, says more in other sections.
        let is_plain = !outline.includes_timestamps && !outline.includes_delete_metadata;
        let is_fixed = |field: &FieldId| self.field_shape(*field).is_ok_and(|shape| !shape.is_var());
        let has_sound_bounds = !self.version().has(Rule::UnsoundBounds);
        !self.is_dense()
            && self.tile_count() == 1
            && is_plain
            && has_sound_bounds
            && fields.iter().all(is_fixed)
    }

    /// Whether nothing was read of the metadata file but the footer, and nothing else has to be to read cells of some fields of its own
    /// schema: then the rectangle of the only tile, and its places, are those that the footer tells.
    pub(crate) fn takes_footer_alone(&self, fields: &[FieldId]) -> bool {
        let is_unread = self.legacy.is_none() && self.metadata.tail.get().is_none();
        is_unread && self.stands_alone(fields) && self.take_lone_tile()
    }

    /// What has to be read of the metadata file before the rectangles of the tiles, and the places of the tiles of some fields of
    /// its own schema, are known: with the first byte of each section, or none for the end of the file. Nothing of what is in memory, nor, unless
    /// statistics of the tiles are asked for too, of what the footer tells as well.
    pub(crate) fn early_requests(
        &self,
        fields: &[FieldId],
        with_statistics: bool,
    ) -> Vec<(Option<u64>, Request)> {
        if self.legacy.is_some() || (!with_statistics && self.takes_footer_alone(fields)) {
            return Vec::new();
        }
        let known = self.metadata.tail.get();
        let at = self.metadata_place();
        let mut wanted = Vec::new();
        if known.is_none() {
            wanted.push((None, Request::Tail { path: at.path(), byte_len: Fragment::TAIL_BYTE_LEN }));
        }
        let Ok(all) = self.footer().sections(&self.kin.shape) else { return wanted };
        let starts: BTreeSet<u64> = all.iter().map(|(_, start)| *start).collect();
        // The footer comes behind the last section.
        let least_file_byte_len =
            known.map_or(starts.last().copied().unwrap_or(0), |tail| tail.file_byte_len);
        let tail_start = least_file_byte_len.saturating_sub(Fragment::TAIL_BYTE_LEN);
        let mut sections = vec![Section::RTree];
        for field in fields {
            let Ok(slot) = self.slot(*field) else { continue };
            let Ok(shape) = self.field_shape(*field) else { continue };
            sections.push(Section::TileOffsets(slot));
            if shape.is_var() {
                sections.extend([Section::TileVarOffsets(slot), Section::TileVarSizes(slot)]);
            }
            if shape.is_nullable {
                sections.push(Section::TileValidityOffsets(slot));
            }
        }
        let is_needed = |section: &Section| {
            let known = self.learned().places.lock().unwrap_or_else(PoisonError::into_inner);
            match section {
                Section::RTree => !self.is_dense() && !self.has_rtree(),
                _ => known.is_empty(),
            }
        };
        let limit = at.place.metadata_limit().min(at.place.whole_section_byte_len());
        for section in sections.iter().filter(|section| is_needed(section)) {
            let Ok(Some(start)) = self.footer().section_offset(*section, &self.kin.shape) else { continue };
            let end = starts.range(start + 1..).next().copied();
            let Some(byte_len) = end.map(|end| end - start).filter(|_| start < tail_start) else { continue };
            // Of a long one its header: it is read where it is asked.
            let byte_len = if byte_len <= limit { byte_len } else { byte_len.min(HEADER_BYTE_LEN) };
            let range = ByteRange { start, byte_len };
            wanted.push((Some(start), Request::Range { path: at.path(), range }));
        }
        wanted
    }

    /// Keeps the answer to one of [`early_requests`](Fragment::early_requests).
    pub(crate) fn take_early(&self, start: Option<u64>, answer: Result<Answer>) {
        match (start, answer) {
            (None, Ok(Answer::Tail(tail))) => drop(self.metadata.tail.set(tail)),
            (Some(start), Ok(Answer::Bytes(bytes))) => {
                let mut pieces = self.metadata.pieces.lock().unwrap_or_else(PoisonError::into_inner);
                pieces.insert(start, bytes);
            }
            // Whoever needs it asks again, and says what is wrong.
            _ => {}
        }
    }
}
