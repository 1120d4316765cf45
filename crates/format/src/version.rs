//! Format versions, and the one table of rules that changed without a field.

use smalti_types::{Error, Result};
use std::fmt;

/// A version of the on-disk format, 1 to 23. Arrays, fragments and metadata files each state their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(u32);

impl Version {
    /// The oldest version.
    pub const MIN: Version = Version(1);
    /// The newest version that is read.
    pub const MAX: Version = Version(23);
    /// The version of what is written unless another is asked for: the newest that released libraries read.
    pub const DEFAULT: Version = Version(22);

    /// Takes a version number.
    ///
    /// # Errors
    /// `Unsupported` for 0 and for numbers above 23.
    pub fn new(number: u32) -> Result<Version> {
        if (Version::MIN.0..=Version::MAX.0).contains(&number) {
            return Ok(Version(number));
        }
        Err(Error::unsupported(format!(
            "format version {number} is unknown; versions 1 to {} can be read",
            Version::MAX
        )))
    }

    /// The number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether a rule holds in this version.
    pub fn has(self, rule: Rule) -> bool {
        rule.span().contains(self.0)
    }

    /// All versions, ascending.
    pub fn all() -> impl Iterator<Item = Version> {
        (Version::MIN.0..=Version::MAX.0).map(Version)
    }
}

impl Default for Version {
    fn default() -> Self {
        Version::DEFAULT
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The versions in which a field exists or a rule holds: from the first, up to but without the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first version.
    pub from: u32,
    /// The first version without it; `None` while it lasts.
    pub until: Option<u32>,
}

impl Span {
    /// From a version, up to but without the version in `until` if there is one: the tables state an end or none.
    pub(crate) const fn new(from: u32, until: &[u32]) -> Span {
        Span { from, until: until.first().copied() }
    }

    /// Whether a version lies inside.
    pub const fn contains(self, version: u32) -> bool {
        version >= self.from
            && match self.until {
                Some(until) => version < until,
                None => true,
            }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            None => write!(f, "{} on", self.from),
            Some(until) if until == self.from + 1 => write!(f, "{} only", self.from),
            Some(until) => write!(f, "{} to {}", self.from, until.saturating_sub(1)),
        }
    }
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $from:literal .. $($until:literal)? $rule:ident,)*) => {
        /// A rule of the format that changed without a field (source: `array_format_history.md`, and the corpus).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule { $($(#[doc = $doc])+ $rule,)* }

        impl Rule {
            /// Every rule, in the order of the table.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// The versions in which the rule holds.
            pub const fn span(self) -> Span {
                match self {
                    $(Rule::$rule => Span::new($from, &[$($until)?]),)*
                }
            }

            /// What the rule says.
            pub fn doc(self) -> &'static str {
                match self { $(Rule::$rule => concat!($($doc),+).trim_ascii(),)* }
            }
        }
    };
}

rules! {
    /// The file `__lock.tdb` stands in the array folder.
    1..11  LockFile,
    /// Coordinates of a cell are stored one dimension after the other; before, so only under a compressor.
    2..    SplitCoordinates,
    /// Fragment names start with their timestamps.
    3..    TimesLeadNames,
    /// Fragment metadata is a file of sections with a footer; before, one generic tile.
    3..    FragmentFooter,
    /// Bounding rectangles of tiles may leave out cells whose dimension is a date or nearly all of a 64-bit integer.
    1..5   UnsoundBounds,
    /// Metadata of arrays is kept, in `__meta`.
    4..    MetadataFolder,
    /// Each dimension has a data file of its own; before, all share `__coords.tdb`.
    5..    DimensionFiles,
    /// A fragment exists only with its commit file; before, with its metadata file.
    5..    CommitFiles,
    /// Fragment names end in the format version.
    5..    VersionEndsNames,
    /// Schemas store the fill value of each attribute.
    6..    FillValues,
    /// New fragments take the version of the array's schema; arrays older than that get the writer's own version.
    7..    WritesKeepVersion,
    /// Releases 2.2.1 and 2.2.2 mixed values and validity of fixed-size nullable attributes in sparse fragments, so that nobody
    /// can tell them apart; newer releases write them right.
    7..8   MixedNullableCells,
    /// Certain characters of field names are percent-encoded in names of data files.
    8..9   PercentEncodedFiles,
    /// Data files are named by the index of their field, as in `a0.tdb`.
    9..    IndexedFiles,
    /// Consolidated fragment metadata names fragments by their folder; before, by their absolute URI.
    9..    FragmentsByName,
    /// Schemas have timestamped names in the folder `__schema`; before, there is one `__array_schema.tdb`.
    10..   SchemaFolder,
    /// The footer is followed by its length; before, only where a dimension is of strings.
    10..   FooterLength,
    /// A chunk of a tile holds whole cells.
    11..   WholeCellsPerChunk,
    /// Footers can end in 8 bytes of no meaning: those that newer releases write in arrays of this version do.
    11..12 StrayFooterEnd,
    /// Fragment metadata holds minimum, maximum, sum and null count of tiles.
    11..   TileStatistics,
    /// Fragments, commits and consolidated metadata stand in folders of their own, and commit files end in `.wrt`.
    12..   CommitsFolder,
    /// Fragment metadata holds minimum, maximum, sum and null count of the whole fragment.
    12..   FragmentStatistics,
    /// ASCII strings under the run-length filter keep their offsets in the data tile.
    12..   RleHoldsOffsets,
    /// ASCII strings under the dictionary filter keep their offsets in the data tile.
    13..   DictionaryHoldsOffsets,
    /// The dictionary filter is known.
    13..   DictionaryFilter,
    /// Footers say whether a consolidated sparse fragment keeps the time of each cell in `t.tdb`.
    14..   TimestampsFlag,
    /// The datatype BOOL is known.
    14..   BoolDatatype,
    /// Sparse fragments are read if their times overlap the wanted ones, as cells tell their own times; before, only as a
    /// whole, even if they keep times.
    15..   CellTimestamps,
    /// Consolidated sparse fragments can keep deleted cells with `dt.tdb` and `dci.tdb`.
    15..   DeleteMetadata,
    /// The filter that scales floats is known.
    15..   ScaleFloatFilter,
    /// Delete commits exist.
    16..   DeleteCommits,
    /// The xor filter is known.
    16..   XorFilter,
    /// The WebP filter is known (to releases from 2.13 on, not to 2.12).
    16..   WebpFilter,
    /// What holds of ASCII strings under the run-length and dictionary filters holds of UTF-8 strings too.
    17..   Utf8HoldsOffsets,
    /// Arrays can have dimension labels.
    18..   DimensionLabels,
    /// Vacuum files hold paths relative to the array; before, absolute URIs.
    19..   RelativeVacuumPaths,
    /// The delta filter states the type that it reads bytes as.
    19..   DeltaReinterprets,
    /// The delta filter is known.
    19..   DeltaFilter,
    /// Bit width reduction and positive delta work on dates and times.
    20..   IntegerFiltersTakeDates,
    /// Integer filters behind float scaling work on the scaled integers; before, they pass bytes on.
    20..   IntegerFiltersFollowScaling,
    /// The double delta filter states the type that it reads bytes as.
    20..   DoubleDeltaReinterprets,
    /// Fragments written into arrays of schemas before version 5 leave coordinates unfiltered; before, they pass the filters
    /// of the coordinates.
    20..   OldSchemasLeaveCoordinatesBare,
    /// Arrays can have enumerations, and the folder `__schema/__enumerations`.
    20..   Enumerations,
    /// Tile statistics of nullable fixed strings in dense arrays are right.
    21..   NullableStringStatistics,
    /// The datatypes GEOM_WKB and GEOM_WKT are known (to releases from 2.21 on, not to 2.19 and 2.20).
    21..   GeometryDatatypes,
    /// Schemas have a current domain.
    22..   CurrentDomain,
    /// Footers end in optional sections.
    23..   OptionalSections,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_outside_the_known_ones_are_unsupported() {
        for number in [0, 24, u32::MAX] {
            let error = Version::new(number).unwrap_err();
            assert_eq!(error.kind(), smalti_types::ErrorKind::Unsupported);
            assert!(error.message().contains(&number.to_string()));
        }
    }

    #[test]
    fn a_rule_holds_from_its_first_version_up_to_its_end() {
        let version = |number| Version::new(number).unwrap();
        assert!(!version(11).has(Rule::CommitsFolder));
        assert!(version(12).has(Rule::CommitsFolder));
        assert!(version(8).has(Rule::PercentEncodedFiles));
        assert!(!version(9).has(Rule::PercentEncodedFiles));
        assert_eq!(Rule::PercentEncodedFiles.span().to_string(), "8 only");
        assert_eq!(Rule::LockFile.span().to_string(), "1 to 10");
    }
}
