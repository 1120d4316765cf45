//! Consolidation by several processes.

use crate::{Array, Context, Split};
use smalti_array::SharedWrite;
use smalti_format::names::TimestampedName;
use smalti_types::{Error, Result};
use smalti_upkeep::{Consolidation, FragmentOptions, PartOptions};

/// A consolidation that several processes, or machines, do together: this one plans it, hands out [parts](SharedConsolidation::parts), and
/// [commits](SharedConsolidation::commit) what comes back. While it lives no other consolidation or vacuum runs. Dropped, it leaves what the
/// others have merged as folders that no reader sees.
#[derive(Debug)]
#[must_use = "nothing is changed before commit"]
pub struct SharedConsolidation {
    shared: smalti_upkeep::SharedConsolidation,
    array: Array,
}

/// A part of a consolidation, which another process [merges](ConsolidationPart::merge). It is made of what can be written down: a split, a text,
/// and a word.
#[derive(Debug, Clone)]
pub struct ConsolidationPart {
    /// What is merged.
    pub split: Split,
    /// What the parts of a merge share.
    pub share: SharedWrite,
    /// Whether deleted cells are left out.
    pub purges: bool,
}

impl Array {
    /// Plans a consolidation for several processes: each merge is divided into at most so many parts of about as many bytes, dense ones by
    /// boxes of whole tiles, sparse ones by their order (Hilbert orders and format versions 1 to 4 stay one part). Of a consolidation
    /// in several steps the first is planned. Each part becomes a fragment.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// use smalti::upkeep::{FragmentOptions, PartOptions};
    ///
    /// # let schema = Schema::dense()
    /// #     .dimension(Dimension::new("x", 0..=999).tile(100))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let array = Array::create("mem://shared-consolidation-docs", &schema)?;
    /// for start in (0..1000).step_by(50) {
    ///     array.write().range("x", start..start + 50).column("a", &[start; 50]).commit()?;
    /// }
    /// let consolidation = array.share_consolidation(&FragmentOptions::default(), 4)?;
    /// let merged: Vec<Vec<String>> = consolidation
    ///     .parts()
    ///     .iter()
    ///     .map(|part| part.merge(&PartOptions::default())) // in other processes
    ///     .collect::<smalti::Result<_>>()?;
    /// assert_eq!(Array::open("mem://shared-consolidation-docs")?.fragments()?.len(), 20);
    /// consolidation.commit(&merged)?;
    /// assert_eq!(Array::open("mem://shared-consolidation-docs")?.fragments()?.len(), 4);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`consolidate`](Array::consolidate); `Unsupported` in format versions before 12, which have no commits of several fragments.
    pub fn share_consolidation(
        &self,
        options: &FragmentOptions,
        part_count: usize,
    ) -> Result<SharedConsolidation> {
        self.context().check_process()?;
        let plan = || smalti_upkeep::share_consolidation(self.place(), options, part_count);
        Ok(SharedConsolidation { shared: self.context().run(plan)?, array: self.clone() })
    }
}

impl SharedConsolidation {
    /// The parts; none where there is nothing to merge.
    pub fn parts(&self) -> Vec<ConsolidationPart> {
        let own = |part: smalti_upkeep::ConsolidationPart| ConsolidationPart {
            split: Split::new(part.split, self.array.place(), self.array.context()),
            share: part.share,
            purges: part.purges,
        };
        self.shared.parts().into_iter().map(own).collect()
    }

    /// Makes what came of the parts visible in place of what was merged: the names of the fragments of each part, in the order of
    /// [`parts`](SharedConsolidation::parts). What was merged twice, or by processes that died, is removed.
    ///
    /// # Errors
    /// `InvalidArgument` for more or fewer parts, or fragments that do not hold what was merged; `NotFound` and `Corrupt` for fragments that are
    /// not there as a whole; `Io` when the claim on the array was lost; what the store reports. Merges before the one that fails are
    /// complete, the others have left nothing.
    pub fn commit(self, parts: &[Vec<String>]) -> Result<Consolidation> {
        let parse = |name: &String| {
            TimestampedName::parse(name)
                .map_err(|_| Error::invalid(format!("{name:?} is no name of a fragment")))
        };
        let parsed = parts.iter().map(|names| names.iter().map(parse).collect::<Result<Vec<_>>>());
        let parsed = parsed.collect::<Result<Vec<_>>>()?;
        let SharedConsolidation { shared, array } = self;
        let done = array.context().run(|| shared.commit(&parsed));
        array.expire();
        done
    }

    /// Removes what was merged so far; what processes that are still at it leave no reader sees.
    pub fn abandon(self) {
        let SharedConsolidation { shared, array } = self;
        array.context().run(|| shared.abandon());
    }
}

impl ConsolidationPart {
    /// Merges the part: the names of its fragments, for the process that planned it. None when no cell is left.
    ///
    /// # Errors
    /// `Cancelled`; `OutOfMemory`; `Corrupt` when what was written does not read back; what reading and writing report. Nothing is left
    /// then.
    pub fn merge(&self, options: &PartOptions) -> Result<Vec<String>> {
        let (split, place, context): (_, _, &Context) = self.split.parts();
        context.check_process()?;
        let part =
            smalti_upkeep::ConsolidationPart { split: split.clone(), share: self.share, purges: self.purges };
        context.run(|| smalti_upkeep::merge_part(place, &part, options))
    }
}
