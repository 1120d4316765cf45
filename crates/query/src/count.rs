//! Numbers that are known before a read, exactly or not.

/// A number that metadata tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Count {
    /// It is this.
    Exact(u64),
    /// It is this or less.
    AtMost(u64),
}

impl Count {
    /// The number, or the one that it does not exceed.
    pub fn most(self) -> u64 {
        match self {
            Count::Exact(count) | Count::AtMost(count) => count,
        }
    }

    /// Whether it is the number itself.
    pub fn is_exact(self) -> bool {
        matches!(self, Count::Exact(_))
    }

    /// What is left of so many where no more than `limit` are taken.
    #[must_use]
    pub fn limited(self, limit: Option<u64>) -> Count {
        let Some(limit) = limit else { return self };
        match self {
            Count::Exact(count) => Count::Exact(count.min(limit)),
            Count::AtMost(count) => Count::AtMost(count.min(limit)),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Count) -> Count {
        let sum = self.most().saturating_add(other.most());
        if self.is_exact() && other.is_exact() { Count::Exact(sum) } else { Count::AtMost(sum) }
    }
}
