//! Times as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

/// A time that arrays can note: milliseconds since 1970 as a `u64`, or a [`SystemTime`].
///
/// Arrays note times in milliseconds: what a `SystemTime` has beyond them is cut off. Times before 1970 count as its start.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
/// use std::time::{Duration, SystemTime};
///
/// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
/// let array = Array::create("mem://timestamp-docs", &schema)?;
/// let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(43_200);
/// array.write().column("a", &[1, 2]).at(noon).commit()?;
/// array.write().column("a", &[3, 4]).at(43_200_001).commit()?;
///
/// let then = Array::open_with("mem://timestamp-docs", &Options::new().at(noon))?;
/// assert_eq!(then.read().to_ndarray::<i32>("a")?.as_slice(), Some(&[1, 2][..]));
/// # Ok::<(), smalti::Error>(())
/// ```
pub trait IntoTimestamp {
    /// The time in milliseconds since 1970-01-01T00:00:00Z.
    fn into_timestamp(self) -> u64;
}

impl IntoTimestamp for u64 {
    fn into_timestamp(self) -> u64 {
        self
    }
}

impl IntoTimestamp for SystemTime {
    fn into_timestamp(self) -> u64 {
        let since = self.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn system_times_are_cut_to_milliseconds_and_end_at_1970() {
        assert_eq!((UNIX_EPOCH + Duration::from_micros(1999)).into_timestamp(), 1);
        assert_eq!((UNIX_EPOCH - Duration::from_secs(1)).into_timestamp(), 0);
    }
}
