//! The header of a generic tile: a tile that says itself how it was filtered.

use crate::filters::SizedPipeline;
use crate::leaf::{FormatVersion, Tag8, U64, tagged};
use crate::record::{Cx, Record, record};
use crate::{Reader, Version};
use smalti_types::{Datatype, Error, Filter, FilterPipeline, Result};

/// How a generic tile is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encryption {
    /// Not at all.
    None,
    /// With AES-256 in GCM mode, by the last filter.
    Aes256Gcm,
}

tagged!(Encryption, "encryption", Encryption::None = 0, Encryption::Aes256Gcm = 1);

record! {
    /// The header of a generic tile; the filtered tile follows.
    pub struct GenericTileHeader in "generic tile header", spec "generic_tile.md" {
        /// The format version of the tile.
        1..  version: Version as FormatVersion,
        /// Bytes of the filtered tile.
        1..  filtered_len: u64 as U64,
        /// Bytes of the tile before filtering.
        1..  unfiltered_len: u64 as U64,
        /// The datatype that the filters take the bytes for; `CHAR` in all that releases wrote.
        1..  datatype: Datatype as Tag8,
        /// Bytes of a cell; 1 in all that releases wrote.
        1..  cell_len: u64 as U64,
        /// Encryption.
        1..  encryption: Encryption as Tag8,
        /// The filters, encryption included.
        1..  filters: FilterPipeline as SizedPipeline,
    }
}

impl GenericTileHeader {
    /// Bytes of the header before the pipeline, the length of the pipeline included. Read these first to learn
    /// [`header_len`](GenericTileHeader::header_len).
    pub const BASE_LEN: u64 = 34;

    /// The header of a tile as the reference writes it: chunks of 64 KiB, gzip at level 1, then encryption.
    pub fn new(version: Version, unfiltered_len: u64, encryption: Encryption) -> Self {
        let mut filters = FilterPipeline::new([Filter::Gzip { level: 1 }]);
        if encryption == Encryption::Aes256Gcm {
            filters.filters.push(Filter::Aes256Gcm);
        }
        let (datatype, cell_len, filtered_len) = (Datatype::Char, 1, 0);
        GenericTileHeader { version, filtered_len, unfiltered_len, datatype, cell_len, encryption, filters }
    }

    /// Bytes of the whole header, from its first [`BASE_LEN`](GenericTileHeader::BASE_LEN) bytes.
    ///
    /// # Errors
    /// `Corrupt` when there are fewer bytes than that.
    pub fn header_len(base: &[u8]) -> Result<u64> {
        let mut reader = Reader::new(base);
        reader
            .take(GenericTileHeader::BASE_LEN - 4)
            .and_then(|_| reader.u32())
            .map(|pipeline_len| GenericTileHeader::BASE_LEN + u64::from(pipeline_len))
            .map_err(|error| error.in_field(Self::STRUCTURE.name, "filters"))
    }

    /// Reads the header at the start of `bytes`, and the filtered tile behind it: its whole length is checked to
    /// be there.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn split(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut reader = Reader::new(bytes);
        let header = GenericTileHeader::decode(&mut reader)?;
        let tile = reader
            .take(header.filtered_len)
            .map_err(|error| error.in_field(Self::STRUCTURE.name, "filtered_len"))?;
        Ok((header, tile))
    }

    /// Reads the header; the tile follows in the reader.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        let header = GenericTileHeader::read(reader, &Cx::unversioned())?;
        let encrypts = header.filters.filters.contains(&Filter::Aes256Gcm);
        if encrypts != (header.encryption == Encryption::Aes256Gcm) {
            return Err(Error::corrupt("the filters and the encryption of the tile contradict each other")
                .in_field(Self::STRUCTURE.name, "encryption"));
        }
        Ok(header)
    }

    /// The header's bytes.
    ///
    /// # Errors
    /// `InvalidArgument` when the version cannot hold a filter's options.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.to_bytes(&Cx::unversioned())
    }
}
