//! Generic tiles: header, chunks, and what the unfiltered tile holds.

use super::chunks::{self, Meaning, Window};
use super::output::Output;
use crate::ArrayPlace;
use bytes::Bytes;
use smalti_codecs::{Codec, FieldKind};
use smalti_format::{GenericTileHeader, Reader, TraceDetail, TraceEntry};
use smalti_tile::codec_rules;
use smalti_types::{Error, Filter, Result};

/// The fields of an unfiltered tile, up to the damage if there is any.
pub(super) type Explained = (Vec<TraceEntry>, Option<Error>);

/// Reads a structure that fills an unfiltered tile.
pub(super) fn traced(
    payload: &[u8],
    detail: TraceDetail,
    decode: impl FnOnce(&mut Reader<'_>) -> Result<()>,
) -> Explained {
    let mut reader = Reader::traced(payload, detail);
    let damage = decode(&mut reader).err();
    (reader.into_trace(), damage)
}

/// Explains the generic tile at an offset of a file, and says where it ends if that can be told.
pub(super) fn explain(
    place: &ArrayPlace,
    title: &str,
    file: &Bytes,
    offset: u64,
    output: &mut Output<'_>,
    explain_payload: &mut dyn FnMut(&[u8], TraceDetail) -> Explained,
) -> Result<Option<u64>> {
    let Some(bytes) = usize::try_from(offset).ok().and_then(|start| file.get(start..)) else {
        output.damaged(Error::corrupt(format!("the {title} starts beyond the file")));
        return Ok(None);
    };
    let mut reader = Reader::traced(bytes, output.detail);
    let decoded = GenericTileHeader::decode(&mut reader);
    let header_end = offset + reader.byte_offset();
    let mut fields = reader.into_trace();
    fields.iter_mut().for_each(|entry| entry.byte_offset += offset);
    let header = match decoded {
        Ok(header) => header,
        Err(error) => {
            let end = fields.last().map_or(offset, |last| last.byte_offset + last.byte_len);
            output.damaged(error.context(title));
            output.in_file(format!("{title}: generic tile"), None, offset..end, fields)?;
            return Ok(None);
        }
    };
    let file_end = file.len() as u64;
    let end = header_end.checked_add(header.filtered_len).filter(|end| *end <= file_end);
    if end.is_none() {
        output.damaged(
            Error::corrupt(format!(
                "{} bytes are needed, {} are left",
                header.filtered_len,
                file_end - header_end
            ))
            .in_field("generic tile header", "filtered_len")
            .at_offset(offset + 4)
            .context(title),
        );
    }
    let codec = codec_of(place, &header);
    let of_range = |range: std::ops::Range<u64>| {
        format!("bytes {} to {} of the unfiltered tile", range.start, range.end)
    };
    let meaning = Meaning { of_range: &of_range, codec: codec.as_ref() };
    let mut window = Window::whole(place, file.clone());
    let tile = chunks::explain(&mut window, header_end..end.unwrap_or(file_end), &meaning, output.detail);
    fields.extend(tile.fields);
    let filters = header.filters.filters.iter().map(|filter| format!("{filter:?}")).collect::<Vec<_>>();
    let filters = if filters.is_empty() { "no filters".to_owned() } else { filters.join(", ") };
    let chunks =
        if tile.chunk_count == 1 { "1 chunk".to_owned() } else { format!("{} chunks", tile.chunk_count) };
    let summary = format!(
        "version {}, {filters}, {} bytes in {chunks} for the {} in which offsets count",
        header.version, header.filtered_len, header.unfiltered_len
    );
    output.in_file(
        format!("{title}: generic tile"),
        Some(summary),
        offset..end.unwrap_or(tile.end),
        fields,
    )?;
    if let Some(error) = tile.damage {
        output.damaged(error.context(title));
    }
    match place.open_tile(bytes) {
        Ok((payload, _)) => {
            let payload = payload.as_slice();
            let (fields, damage) = explain_payload(payload, output.detail);
            if let Some(error) = damage {
                output.damaged(error.context(title));
            }
            let file_range = header_end..end.unwrap_or(tile.end);
            output.in_tile(title, file_range, payload.len() as u64, fields)?;
        }
        Err(error) => output.damaged(error.context(title)),
    }
    Ok(end)
}

/// The filters of a generic tile, to tell their metadata apart.
fn codec_of(place: &ArrayPlace, header: &GenericTileHeader) -> Option<Codec> {
    let mut pipeline = header.filters.clone();
    let filter_count = pipeline.filters.len();
    pipeline.filters.retain(|filter| !matches!(filter, Filter::Aes256Gcm));
    let cipher = if pipeline.filters.len() < filter_count { Some(place.cipher()?) } else { None };
    Codec::new(&pipeline, FieldKind::bytes(), codec_rules(header.version), cipher).ok()
}
