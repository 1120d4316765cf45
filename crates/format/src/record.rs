//! The table language: one table per on-disk structure gives its struct, reader, writer and documentation.
//!
//! ```text
//! record! {
//!     /// An attribute of an array schema.
//!     pub struct Attribute in "attribute", spec "array_schema.md#attribute" {
//!         /// The name, unique in the array.
//!         1..   name: String as Str32,
//!         /// The value of cells that nobody wrote.
//!         6..   fill_value: Vec<u8> as Bytes64 = default_fill(datatype, cell_val_num),
//!         /// Gone in version 5: on disk, but not in the struct; `=>` says what is written.
//!         1..5  let domain_datatype: Datatype as DatatypeTag = Datatype::Any => first_datatype(dimensions),
//!     }
//! }
//! ```
//!
//! A row is `versions  name: type in memory as type on disk = what a reader sees where the row is absent`.
//! `1..` means from version 1 on, `1..5` in versions 1 to 4. On-disk types are [`Leaf`]s; they may take arguments,
//! and arguments and defaults may use the rows above them, by reference. `given cx` after the specification
//! names the surroundings ([`Cx`]) for use in the rows.

use crate::{Reader, Span, Version, Writer};
use smalti_types::{Datatype, Error, Result};
use std::fmt::Debug;

/// What the layout of a structure depends on besides its own fields.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The version that decides which rows exist. Mostly the format version; groups, enumerations and the current
    /// domain count versions of their own.
    pub version: u32,
    /// The schema's part, for structures inside a fragment.
    pub shape: &'a Shape,
    /// The datatype that all dimensions share, in versions that store it once for the domain.
    pub domain_datatype: Datatype,
}

impl<'a> Cx<'a> {
    /// The surroundings of a structure in a file of a format version.
    pub fn new(version: Version, shape: &'a Shape) -> Self {
        Cx { version: version.number(), shape, domain_datatype: Datatype::Any }
    }

    /// Surroundings of a structure that states its version itself.
    pub(crate) fn unversioned() -> Cx<'static> {
        Cx { version: Version::MAX.number(), shape: &NO_SHAPE, domain_datatype: Datatype::Any }
    }
}

/// What layouts inside a fragment take from the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// The dimensions.
    pub dimensions: Vec<DimensionShape>,
    /// The number of attributes.
    pub attribute_count: usize,
}

/// What layouts inside a fragment take from a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DimensionShape {
    /// The datatype of coordinates.
    pub datatype: Datatype,
    /// Whether coordinates are strings of any length.
    pub is_var: bool,
}

static NO_SHAPE: Shape = Shape { dimensions: Vec::new(), attribute_count: 0 };

impl Shape {
    /// Whether no dimension is of strings.
    pub fn all_dimensions_fixed(&self) -> bool {
        self.dimensions.iter().all(|dimension| !dimension.is_var)
    }

    /// Whether each dimension is of strings, as [`RectList::new`](smalti_types::RectList::new) wants it.
    pub fn string_dimensions(&self) -> Box<[bool]> {
        self.dimensions.iter().map(|dimension| dimension.is_var).collect()
    }
}

/// How a value of type `T` lies on disk.
pub trait Leaf<T: Debug> {
    /// The type on disk, for the documentation.
    fn on_disk() -> String;

    /// The number of bytes, where it does not depend on the value.
    fn fixed_len(_cx: &Cx<'_>) -> Option<u64> {
        None
    }

    /// The surroundings of the rows below: a version that a structure states itself counts from there on.
    fn surroundings<'a>(&self, _value: &T, cx: Cx<'a>) -> Cx<'a> {
        cx
    }

    /// The value as text, for traces.
    fn show(value: &T) -> String {
        shortened(value)
    }

    /// As [`show`](Leaf::show), for types whose arguments say what the value means.
    fn show_value(&self, value: &T) -> String {
        Self::show(value)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported`.
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<T>;

    /// Writes a value.
    ///
    /// # Errors
    /// `InvalidArgument` when the on-disk type cannot hold the value.
    fn write(&self, value: &T, writer: &mut Writer, cx: &Cx<'_>) -> Result<()>;
}

/// One row of a structure's table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The field.
    pub field: &'static str,
    /// The versions in which the field exists.
    pub versions: Span,
    /// The type on disk.
    pub on_disk: fn() -> String,
    /// What a reader sees where the field is absent, as an expression.
    pub absent: &'static str,
    /// What the field means.
    pub doc: &'static str,
}

/// One structure's table.
#[derive(Debug, Clone, Copy)]
pub struct Structure {
    /// The structure's name in errors and traces.
    pub name: &'static str,
    /// What the structure is.
    pub doc: &'static str,
    /// Where the public specification describes it.
    pub spec: &'static str,
    /// The rows, in the order of the bytes.
    pub rows: &'static [Row],
}

/// A structure that a table describes.
pub trait Record: Sized + Debug + Clone + PartialEq {
    /// The table.
    const STRUCTURE: Structure;

    /// Reads the structure; the bytes may go on after it.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported`, with structure, field and byte offset.
    fn read(reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Self>;

    /// Writes the structure.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the field, when the version cannot hold a value.
    fn write(&self, writer: &mut Writer, cx: &Cx<'_>) -> Result<()>;

    /// The number of bytes, where it depends on the surroundings alone.
    fn fixed_len(cx: &Cx<'_>) -> Option<u64>;

    /// Reads the structure from all of `bytes`.
    ///
    /// # Errors
    /// As [`read`](Record::read), and `Corrupt` when bytes are left over.
    fn from_bytes(bytes: &[u8], cx: &Cx<'_>) -> Result<Self> {
        Self::from_reader(&mut Reader::new(bytes), cx)
    }

    /// As [`from_bytes`](Record::from_bytes), from all that a reader has left.
    ///
    /// # Errors
    /// As [`from_bytes`](Record::from_bytes).
    fn from_reader(reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Self> {
        let value = Self::read(reader, cx)?;
        reader.expect_end().map_err(|error| error.in_field(Self::STRUCTURE.name, "end"))?;
        Ok(value)
    }

    /// The structure's bytes.
    ///
    /// # Errors
    /// As [`write`](Record::write).
    fn to_bytes(&self, cx: &Cx<'_>) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        self.write(&mut writer, cx)?;
        Ok(writer.into_bytes())
    }
}

/// A value as text of at most about a hundred characters.
pub(crate) fn shortened(value: &impl Debug) -> String {
    limited(value, 100)
}

/// A value as text of at most so many characters, and `…` where there are more.
pub(crate) fn limited(value: &impl Debug, max_chars: usize) -> String {
    struct Limited(String, usize);
    impl std::fmt::Write for Limited {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let Limited(out, room) = self;
            for character in text.chars() {
                if *room == 0 {
                    return Err(std::fmt::Error);
                }
                out.push(character);
                *room -= 1;
            }
            Ok(())
        }
    }
    let mut short = Limited(String::new(), max_chars);
    if std::fmt::Write::write_fmt(&mut short, format_args!("{value:?}")).is_err() {
        short.0.push('…');
    }
    short.0
}

/// The error of a value that the version written has no field for.
pub(crate) fn not_held(structure: &'static str, field: &str, version: u32, versions: Span) -> Error {
    Error::invalid(format!(
        "version {version} of the {structure} has no field {field} (it exists in versions {versions}); \
         write another version or leave the field at its default"
    ))
}

/// The error of a field that has no default where it is absent.
pub(crate) fn not_known(structure: &'static str, field: &str, version: u32, versions: Span) -> Error {
    Error::unsupported(format!(
        "there is no {structure} in version {version}: its field {field} exists in versions {versions}"
    ))
}

/// Defines a structure by its table; see the [module](crate::record).
macro_rules! record {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $Name:ident in $structure:literal, spec $spec:literal { $($rows:tt)* }
    ) => {
        record! { $(#[doc = $doc])+ $vis struct $Name in $structure, spec $spec, given cx { $($rows)* } }
    };
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $Name:ident in $structure:literal, spec $spec:literal, given $cx:ident { $($rows:tt)* }
    ) => {
        record! {
            @row { ($vis) $Name $structure $spec $cx reader writer [$($doc)+] }
            struct {} prior [] stored [] read {} write {} len {} rows {}
            $($rows)*
        }
    };

    // A row on disk that the struct leaves out.
    (
        @row { ($vis:vis) $Name:ident $structure:literal $spec:literal $cx:ident $reader:ident $writer:ident $doc:tt }
        struct { $($struct:tt)* } prior [$($prior:ident)*] stored [$($stored:ident)*]
        read { $($read:tt)* } write { $($write:tt)* } len { $($len:tt)* } rows { $($row:tt)* }
        $(#[doc = $fdoc:literal])*
        $from:literal .. $($until:literal)? let $name:ident : $ty:ty as $leaf:ident $(($($arg:expr),*))?
            $(= $absent:expr)? => $written:expr, $($rest:tt)*
    ) => {
        record! {
            @row { ($vis) $Name $structure $spec $cx $reader $writer $doc }
            struct { $($struct)* } prior [$($prior)* $name] stored [$($stored)*]
            read { $($read)* record! { @read $structure $cx $reader [$($prior)*]
                ($from [$($until)?]) $name $ty, $leaf [$($($arg),*)?] [$($absent)?] } }
            write { $($write)*
                let $name: &$ty = &if (record! { @span $from [$($until)?] }).contains($cx.version) {
                    $written
                } else {
                    record! { @absent $structure $name $cx $ty, ($from [$($until)?]) [$($absent)?] }
                };
                record! { @write $structure $cx $writer ($from [$($until)?]) $name $ty, $leaf [$($($arg),*)?] unchecked } }
            len { $($len)* + record! { @len $cx ($from [$($until)?]) $ty, $leaf } }
            rows { $($row)* record! { @doc ($from [$($until)?]) $name $ty, $leaf [$($absent)?] [$($fdoc)*] }, }
            $($rest)*
        }
    };

    // A row on disk that is a field of the struct.
    (
        @row { ($vis:vis) $Name:ident $structure:literal $spec:literal $cx:ident $reader:ident $writer:ident $doc:tt }
        struct { $($struct:tt)* } prior [$($prior:ident)*] stored [$($stored:ident)*]
        read { $($read:tt)* } write { $($write:tt)* } len { $($len:tt)* } rows { $($row:tt)* }
        $(#[doc = $fdoc:literal])*
        $from:literal .. $($until:literal)? $name:ident : $ty:ty as $leaf:ident $(($($arg:expr),*))?
            $(= $absent:expr)?, $($rest:tt)*
    ) => {
        record! {
            @row { ($vis) $Name $structure $spec $cx $reader $writer $doc }
            struct { $($struct)* $(#[doc = $fdoc])* $vis $name: $ty, } prior [$($prior)* $name] stored [$($stored)* $name]
            read { $($read)* record! { @read $structure $cx $reader [$($prior)*]
                ($from [$($until)?]) $name $ty, $leaf [$($($arg),*)?] [$($absent)?] } }
            write { $($write)*
                record! { @write $structure $cx $writer ($from [$($until)?]) $name $ty, $leaf [$($($arg),*)?] [$($absent)?] } }
            len { $($len)* + record! { @len $cx ($from [$($until)?]) $ty, $leaf } }
            rows { $($row)* record! { @doc ($from [$($until)?]) $name $ty, $leaf [$($absent)?] [$($fdoc)*] }, }
            $($rest)*
        }
    };

    (@leaf $leaf:ident []) => { $leaf };
    (@leaf $leaf:ident [$($arg:expr),+]) => { $leaf($($arg),+) };
    (@span $from:literal [$($until:literal)?]) => { $crate::Span::new($from, &[$($until)?]) };
    (@absent $structure:literal $name:ident $cx:ident $ty:ty, $span:tt [$absent:expr]) => { $absent };
    (@absent $structure:literal $name:ident $cx:ident $ty:ty, ($($span:tt)*) []) => {
        Err::<$ty, _>($crate::record::not_known(
            $structure, stringify!($name), $cx.version, record! { @span $($span)* }))?
    };

    (
        @read $structure:literal $cx:ident $reader:ident [$($prior:ident)*]
        ($($span:tt)*) $name:ident $ty:ty, $leaf:ident $args:tt $absent:tt
    ) => {
        let ($name, $cx): ($ty, $crate::record::Cx<'_>) = {
            $(let $prior = &$prior;)*
            if (record! { @span $($span)* }).contains($cx.version) {
                let leaf = record! { @leaf $leaf $args };
                let value = $reader.field(
                    $crate::reader::FieldName {
                        structure: $structure,
                        field: stringify!($name),
                        on_disk: <$leaf as $crate::record::Leaf<$ty>>::on_disk,
                        rows: <Self as $crate::record::Record>::STRUCTURE.rows,
                    },
                    |value| $crate::record::Leaf::<$ty>::show_value(&leaf, value),
                    |reader| $crate::record::Leaf::<$ty>::read(&leaf, reader, &$cx),
                )?;
                let next = $crate::record::Leaf::<$ty>::surroundings(&leaf, &value, $cx);
                (value, next)
            } else {
                (record! { @absent $structure $name $cx $ty, ($($span)*) $absent }, $cx)
            }
        };
    };

    (
        @write $structure:literal $cx:ident $writer:ident
        ($($span:tt)*) $name:ident $ty:ty, $leaf:ident $args:tt $absent:tt
    ) => {
        let $cx = if (record! { @span $($span)* }).contains($cx.version) {
            let leaf = record! { @leaf $leaf $args };
            $crate::record::Leaf::<$ty>::write(&leaf, $name, $writer, &$cx)
                .map_err(|error| error.in_field($structure, stringify!($name)))?;
            $crate::record::Leaf::<$ty>::surroundings(&leaf, $name, $cx)
        } else {
            record! { @unheld $structure $cx ($($span)*) $name $ty, $absent }
            $cx
        };
    };
    (@unheld $structure:literal $cx:ident ($($span:tt)*) $name:ident $ty:ty, unchecked) => {};
    (@unheld $structure:literal $cx:ident ($($span:tt)*) $name:ident $ty:ty, $absent:tt) => {
        let absent: $ty = record! { @absent $structure $name $cx $ty, ($($span)*) $absent };
        if *$name != absent {
            return Err($crate::record::not_held(
                $structure, stringify!($name), $cx.version, record! { @span $($span)* }));
        }
    };

    (@len $cx:ident ($($span:tt)*) $ty:ty, $leaf:ident) => {
        if (record! { @span $($span)* }).contains($cx.version) {
            <$leaf as $crate::record::Leaf<$ty>>::fixed_len($cx)?
        } else {
            0
        }
    };

    (@doc ($($span:tt)*) $name:ident $ty:ty, $leaf:ident [$($absent:expr)?] [$($doc:literal)*]) => {
        $crate::record::Row {
            field: stringify!($name),
            versions: record! { @span $($span)* },
            on_disk: <$leaf as $crate::record::Leaf<$ty>>::on_disk,
            absent: stringify!($($absent)?),
            doc: concat!($($doc),*),
        }
    };

    // No rows are left.
    (
        @row { ($vis:vis) $Name:ident $structure:literal $spec:literal $cx:ident $reader:ident $writer:ident [$($doc:literal)+] }
        struct { $($struct:tt)* } prior [$($prior:ident)*] stored [$($stored:ident)*]
        read { $($read:tt)* } write { $($write:tt)* } len { $($len:tt)* } rows { $($row:tt)* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $Name { $($struct)* }

        #[allow(unused_variables, reason = "not every row uses the rows above it")]
        impl $crate::record::Record for $Name {
            const STRUCTURE: $crate::record::Structure = $crate::record::Structure {
                name: $structure,
                doc: concat!($($doc, "\n"),+),
                spec: $spec,
                rows: &[$($row)*],
            };

            fn read($reader: &mut $crate::Reader<'_>, $cx: &$crate::record::Cx<'_>) -> smalti_types::Result<Self> {
                let $cx = *$cx;
                $($read)*
                Ok($Name { $($stored),* })
            }

            fn write(&self, $writer: &mut $crate::Writer, $cx: &$crate::record::Cx<'_>) -> smalti_types::Result<()> {
                let $cx = *$cx;
                let $Name { $($stored),* } = self;
                $($write)*
                Ok(())
            }

            fn fixed_len($cx: &$crate::record::Cx<'_>) -> Option<u64> {
                Some(0u64 $($len)*)
            }
        }
    };
}
pub(crate) use record;
