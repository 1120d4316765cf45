//! What a check finds, and what a repair would do about it.

use smalti_types::Error;
use std::fmt;

/// How bad a finding is, from the least to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Readers are not concerned.
    Harmless,
    /// Readers may be given wrong answers: cells twice, deleted cells, wrong aggregates.
    Misleading,
    /// Data is there that readers do not get, maybe all of the array's.
    Hidden,
    /// Data is gone.
    Lost,
}

impl Class {
    /// The word for programs, such as `lost`.
    pub fn name(self) -> &'static str {
        match self {
            Class::Harmless => "harmless",
            Class::Misleading => "misleading",
            Class::Hidden => "hidden",
            Class::Lost => "lost",
        }
    }

    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Class::Harmless => "harmless",
            Class::Misleading => "wrong answers",
            Class::Hidden => "hidden data",
            Class::Lost => "lost data",
        }
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)*) => {
        /// What was found. docs/fsck.md explains each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum FindingKind { $($(#[doc = $doc])+ $variant,)* }

        impl FindingKind {
            /// Every kind.
            pub const ALL: &'static [FindingKind] = &[$(FindingKind::$variant,)*];

            /// The name for programs, such as `fragment-missing`.
            pub fn name(self) -> &'static str {
                match self { $(FindingKind::$variant => $name,)* }
            }

            /// What it means, in a sentence.
            pub fn doc(self) -> &'static str {
                match self { $(FindingKind::$variant => concat!($($doc),+).trim_ascii(),)* }
            }
        }
    };
}

kinds! {
    /// A file or folder whose name has no meaning where it stands.
    Stray = "stray";
    /// A fragment or commit whose name has a time or version that none can have: readers pass over it.
    NameImpossible = "name-impossible";
    /// A file that ends before its own header says: its write was cut off, or it was truncated.
    Torn = "torn";
    /// A file, or a part of one, whose bytes contradict the format or a checksum.
    Damaged = "damaged";
    /// A file that cannot be decrypted with the key.
    Locked = "locked";
    /// A file that the storage does not give.
    Unreadable = "unreadable";
    /// Something in a format version, or with a feature, that this release does not know.
    Unknown = "unknown";
    /// Bytes behind the end of what the file holds.
    TrailingBytes = "trailing-bytes";
    /// No schema of the array can be read.
    NoSchema = "no-schema";
    /// A fragment names a schema that is not there, or cannot be read.
    SchemaMissing = "schema-missing";
    /// A schema names an enumeration that is not there, or cannot be read.
    EnumerationMissing = "enumeration-missing";
    /// An enumeration that no schema names.
    EnumerationUnused = "enumeration-unused";
    /// A commit whose fragment is not there.
    FragmentMissing = "fragment-missing";
    /// A fragment that no commit names.
    Orphan = "orphan";
    /// A commit that a file of its own and a consolidated commits file name.
    CommitTwice = "commit-twice";
    /// A commit that several consolidated commits files name.
    ListsOverlap = "lists-overlap";
    /// A vacuum file whose fragment, or metadata file, is not there: what it lists is hidden, and nothing takes its place.
    VacuumWithoutFragment = "vacuum-without-fragment";
    /// A vacuum file that lists nothing: what its fragment was made of is read too.
    VacuumEmpty = "vacuum-empty";
    /// A merged fragment beside one that it was merged from, which no vacuum file hides.
    VacuumMissing = "vacuum-missing";
    /// A vacuum or ignore file that lists nothing that is there.
    ListIdle = "list-idle";
    /// The vacuum file of a consolidation that smalti has not finished.
    VacuumPending = "vacuum-pending";
    /// A line of a list that names nothing.
    BadLine = "bad-line";
    /// A line of a list that names nothing that is there, but nearly something that is.
    NearName = "near-name";
    /// A time in a name that lies ahead of the clock.
    FutureTime = "future-time";
    /// What an interrupted operation left.
    Leftover = "leftover";
    /// An upload in parts that was begun and not finished: nobody can read it, and its parts take up room.
    Upload = "upload";
    /// Consolidated fragment metadata that says something else than the fragment itself, or names one that is gone.
    FooterStale = "footer-stale";
    /// A fragment without its metadata file.
    MetadataMissing = "metadata-missing";
    /// A data file that is not there.
    FileMissing = "file-missing";
    /// A data file that is shorter than the fragment's metadata says.
    FileShort = "file-short";
    /// A data file that is longer than the fragment's metadata says.
    FileLong = "file-long";
    /// Upper levels of an R-tree that do not bound the levels below: queries miss tiles.
    TreeWrong = "tree-wrong";
    /// A non-empty domain that does not hold all tiles: queries miss them.
    DomainWrong = "domain-wrong";
    /// A tile's rectangle that does not hold all its cells: queries miss them.
    RectangleWrong = "rectangle-wrong";
    /// Statistics of a tile that are not those of its cells.
    StatisticsWrong = "statistics-wrong";
    /// Offsets or sizes of tiles that contradict the data files.
    OffsetsWrong = "offsets-wrong";
    /// A tile that cannot be decoded.
    TileDamaged = "tile-damaged";
    /// A cell outside the domain.
    CellOutside = "cell-outside";
    /// Cells that are not in the array's order.
    CellDisorder = "cell-disorder";
    /// A manifest for readers over HTTP that names files which have gone since it was written.
    ManifestStale = "manifest-stale";
    /// A member of a group that is not where the group's list says, or is something else.
    MemberMissing = "member-missing";
    /// A member of a group that could not be checked: out of reach, locked by another key, or nested too deep.
    MemberUnchecked = "member-unchecked";
    /// A cell that a fragment has twice although the array allows no duplicates.
    CellTwice = "cell-twice";
    /// A cell of type STRING_ASCII that holds other bytes: readers that trust the type may fail on it.
    TextNotAscii = "text-not-ascii";
}

/// A step of a repair. Paths are relative to the array. No file is ever deleted: files and folders go to the array's folder
/// of what was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Puts a new file; where one of that name is, it is set aside first.
    Put {
        /// Where.
        path: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Sets a file aside.
    SetFileAside(String),
    /// Sets a folder aside with all it holds.
    SetFolderAside(String),
    /// Gives up an upload that was never finished, of whose parts nobody can make anything.
    AbortUpload {
        /// The file that it would have become.
        path: String,
        /// What the store calls it.
        id: String,
    },
}

/// What a repair would do about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Nothing has to be done.
    NotNeeded,
    /// Nothing can be done that is provable; why, and what somebody can do.
    None(String),
    /// Steps that change no answer that readers are owed.
    Steps {
        /// What they do, in words.
        words: String,
        /// In order.
        steps: Vec<Step>,
    },
    /// Steps that give up what is lost so that the rest can be read: only on request.
    GiveUp {
        /// What they do, in words.
        words: String,
        /// In order.
        steps: Vec<Step>,
    },
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// How bad.
    pub class: Class,
    /// The file or folder, relative to the array.
    pub file: String,
    /// The structure in the file, as the format's documentation calls it.
    pub structure: Option<String>,
    /// The field of that structure.
    pub field: Option<String>,
    /// Where: from the start of the file, or of the unfiltered tile that holds the structure.
    pub byte_offset: Option<u64>,
    /// The details, with the values that contradict each other.
    pub message: String,
    /// What a repair would do.
    pub remedy: Remedy,
}

impl Finding {
    pub(super) fn new(
        kind: FindingKind,
        class: Class,
        file: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Finding {
            kind,
            class,
            file: file.into(),
            structure: None,
            field: None,
            byte_offset: None,
            message: message.into(),
            remedy: if class == Class::Harmless {
                Remedy::NotNeeded
            } else {
                Remedy::None("there is nothing to mend it from; `smalti salvage` reads the rest".into())
            },
        }
    }

    /// A finding at the place that an error names.
    pub(super) fn of_error(kind: FindingKind, class: Class, file: impl Into<String>, error: &Error) -> Self {
        Finding::new(kind, class, file, error.message()).at_error(error)
    }

    pub(super) fn at_error(mut self, error: &Error) -> Self {
        let location = error.location();
        self.structure = location.structure.map(str::to_owned);
        self.field.clone_from(&location.field);
        self.byte_offset = location.byte_offset;
        self
    }

    pub(super) fn at(mut self, structure: &str, field: impl Into<String>, byte_offset: Option<u64>) -> Self {
        self.structure = Some(structure.to_owned());
        self.field = Some(field.into());
        self.byte_offset = byte_offset;
        self
    }

    /// Steps of a repair; none: nothing is needed.
    pub(super) fn mended_by(mut self, words: impl Into<String>, steps: Vec<Step>) -> Self {
        self.remedy = Remedy::Steps { words: words.into(), steps };
        self
    }

    pub(super) fn given_up_by(mut self, words: impl Into<String>, steps: Vec<Step>) -> Self {
        self.remedy = Remedy::GiveUp { words: words.into(), steps };
        self
    }

    pub(super) fn not_mended(mut self, why: impl Into<String>) -> Self {
        self.remedy = Remedy::None(why.into());
        self
    }

    /// The same file set aside.
    pub(super) fn set_aside(self) -> Self {
        let step = Step::SetFileAside(self.file.clone());
        self.mended_by("sets the file aside", vec![step])
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.file, self.kind.name(), self.class.words())?;
        if let Some(structure) = &self.structure {
            write!(f, ", {structure}")?;
            if let Some(field) = &self.field {
                write!(f, ".{field}")?;
            }
        }
        if let Some(offset) = self.byte_offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.message)
    }
}
