//! Ranges of timestamps.

/// An inclusive range of timestamps in milliseconds since 1970-01-01T00:00:00Z.
///
/// A fragment is visible in it when its whole own range lies inside; a single write has a range of one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// The first millisecond.
    pub start: u64,
    /// The last millisecond.
    pub end: u64,
}

impl TimeRange {
    /// All of time.
    pub const ALL: TimeRange = TimeRange { start: 0, end: u64::MAX };

    /// Everything up to and including `end`.
    pub fn until(end: u64) -> Self {
        TimeRange { start: 0, end }
    }

    /// Whether `other` lies wholly inside.
    pub fn contains(self, other: TimeRange) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the two share an instant.
    pub fn overlaps(self, other: TimeRange) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}
