//! How values are written where there are two ways.

/// How values are written and read where there are two ways.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Notation {
    /// Dates and times as ISO 8601, or as the stored integers (in text formats; others have types of their own)
    #[cfg_attr(feature = "clap", arg(long, default_value = "iso"))]
    pub dates: Dates,
    /// Values of enumerations as their labels, or as the stored codes
    #[cfg_attr(feature = "clap", arg(long, default_value = "labels"))]
    pub enums: Enums,
}

/// How dates and times are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Dates {
    /// ISO 8601.
    #[default]
    Iso,
    /// The stored integer.
    Int,
}

/// How values of attributes with an enumeration are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Enums {
    /// The label of the code.
    #[default]
    Labels,
    /// The stored code.
    Codes,
}
