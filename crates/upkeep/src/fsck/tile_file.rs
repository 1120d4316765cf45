//! Files that are one generic tile: schemas, enumerations, metadata, lists of members, delete commits.

use super::Check;
use super::finding::{Class, Finding, FindingKind};
use bytes::Bytes;
use smalti_array::{ArrayPlace, Inspector};
use smalti_format::{GenericTileHeader, Reader, TraceDetail};
use smalti_types::{AlignedBuf, Error, ErrorKind, Result};

/// What is wrong with a tile.
#[derive(Debug)]
pub(super) enum Flaw {
    /// It ends early: nobody can have been told that it was written.
    Torn(Error),
    /// It is as long as it says, and contradicts itself.
    Damaged(Error),
    /// It does not open with the key.
    Locked(Error),
    /// It is of a version, or has a filter, that is not known here.
    Unknown(Error),
    /// It cannot be read at all.
    Unreadable(Error),
}

impl Flaw {
    pub(super) fn of(error: Error) -> Flaw {
        match error.kind() {
            ErrorKind::Permission => Flaw::Locked(error),
            ErrorKind::Unsupported => Flaw::Unknown(error),
            ErrorKind::Corrupt | ErrorKind::InvalidArgument => Flaw::Damaged(error),
            _ => Flaw::Unreadable(error),
        }
    }

    pub(super) fn error(&self) -> &Error {
        let (Flaw::Torn(error)
        | Flaw::Damaged(error)
        | Flaw::Locked(error)
        | Flaw::Unknown(error)
        | Flaw::Unreadable(error)) = self;
        error
    }

    pub(super) fn kind(&self) -> FindingKind {
        match self {
            Flaw::Torn(_) => FindingKind::Torn,
            Flaw::Damaged(_) => FindingKind::Damaged,
            Flaw::Locked(_) => FindingKind::Locked,
            Flaw::Unknown(_) => FindingKind::Unknown,
            Flaw::Unreadable(_) => FindingKind::Unreadable,
        }
    }

    /// Whether it is provable from the bytes alone that no reader can ever have decoded them: then a repair may set them
    /// aside.
    pub(super) fn is_provable(&self) -> bool {
        matches!(self, Flaw::Torn(_) | Flaw::Damaged(_))
    }
}

/// Unfilters the tile at the start of some bytes; its length there too.
pub(super) fn open_tile(place: &ArrayPlace, bytes: &[u8]) -> Result<(AlignedBuf, u64), Flaw> {
    place.open_tile(bytes).map_err(|error| match tear(bytes) {
        Some(torn) => Flaw::Torn(torn),
        None => Flaw::of(error),
    })
}

/// Why the bytes are no whole tile, where the reason is that there are too few.
fn tear(bytes: &[u8]) -> Option<Error> {
    let byte_len = bytes.len() as u64;
    let torn = |message: String, field: &str, offset: u64| {
        Some(Error::corrupt(message).in_field("generic tile header", field).at_offset(offset))
    };
    if byte_len < GenericTileHeader::BASE_LEN {
        return torn(
            format!("{byte_len} bytes are left of a header of at least {}", GenericTileHeader::BASE_LEN),
            "version",
            0,
        );
    }
    if bytes.iter().all(|byte| *byte == 0) {
        return torn(format!("all {byte_len} bytes are 0: the content never reached the disk"), "version", 0);
    }
    let header_len = GenericTileHeader::header_len(bytes).ok()?;
    if header_len > byte_len {
        return torn(format!("the header needs {header_len} bytes, there are {byte_len}"), "filters", 30);
    }
    let header = GenericTileHeader::decode(&mut Reader::new(bytes)).ok()?;
    let left = byte_len - header_len;
    if header.filtered_len > left {
        return torn(format!("{} bytes are needed, {left} are left", header.filtered_len), "filtered_len", 4);
    }
    None
}

impl Check<'_> {
    /// Reads a file that is one generic tile, and decodes it; `None` with a flaw.
    pub(super) fn tile_file<T>(
        &self,
        path: &str,
        decode: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<(T, u64), Flaw> {
        let bytes = self.bytes(path).map_err(Flaw::of)?;
        let (tile, byte_len) = open_tile(self.place, &bytes)?;
        let decoded = decode(tile.as_slice()).map_err(Flaw::of)?;
        Ok((decoded, bytes.len() as u64 - byte_len))
    }

    /// The whole of a file whose size the format bounds.
    pub(super) fn bytes(&self, path: &str) -> Result<Bytes> {
        self.place.read_metadata_file(&self.place.join(path))
    }

    /// The finding for a flaw of a file; damage is looked up to the field.
    pub(super) fn flawed(&self, flaw: &Flaw, class: Class, path: &str) -> Finding {
        let mut finding = Finding::of_error(flaw.kind(), class, path, flaw.error());
        if finding.structure.is_none() || finding.byte_offset.is_none() {
            let (place, file) = (self.place, self.place.join(path));
            let key = place.cipher().map(|cipher| cipher.key.clone());
            let file = ArrayPlace::in_store(place.store().clone(), file, key, place.env().clone());
            let inspector = Inspector::in_store(file);
            let damage = inspector.ok().and_then(|it| it.inspection(TraceDetail::Folded).damage);
            if let Some(damage) = damage.filter(|damage| damage.location().structure.is_some()) {
                finding = finding.at_error(&damage);
            }
        }
        if !flaw.is_provable() {
            finding = finding.not_mended("nothing is provable about bytes that cannot be read");
        }
        finding
    }

    /// Notes bytes behind a tile, which readers pass over.
    pub(super) fn note_trailing(&mut self, path: &str, byte_len: u64) {
        if byte_len > 0 {
            let message = format!("{byte_len} bytes follow what the file holds; readers pass over them");
            self.add(Finding::new(FindingKind::TrailingBytes, Class::Harmless, path, message));
        }
    }
}
