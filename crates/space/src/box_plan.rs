//! A box of cells in two buffers, reduced to the fewest and longest steps.

use crate::Geometry;
use smalti_types::{Error, Result};

/// One dimension of a plan: a count of steps, and what a step is in either buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) extent: usize,
    pub(crate) dst: usize,
    pub(crate) src: usize,
}

/// The axes of a box from the longest step in the destination to the shortest. Axes of one step are dropped and axes
/// that continue each other in both buffers merged, so that a contiguous box has one axis.
#[derive(Debug, Clone)]
pub(crate) struct BoxPlan {
    pub(crate) axes: Vec<Axis>,
    pub(crate) dst_offset: usize,
    pub(crate) src_offset: usize,
    /// Whether some extent is 0, so that there is nothing to do.
    pub(crate) is_empty: bool,
}

impl BoxPlan {
    pub(crate) fn new(dst: Geometry<'_>, src: Geometry<'_>, extents: &[u64]) -> Result<Self> {
        if dst.strides.len() != extents.len() || src.strides.len() != extents.len() {
            return Err(Error::invalid("extents and strides of a box differ in their number of dimensions"));
        }
        let mut axes = Vec::with_capacity(extents.len() + 1);
        for ((&extent, &dst), &src) in extents.iter().zip(dst.strides).zip(src.strides) {
            let extent = usize::try_from(extent).map_err(|_| {
                Error::invalid(format!("a box of extents {extents:?} exceeds the address space"))
            })?;
            axes.push(Axis { extent, dst, src });
        }
        let mut plan =
            BoxPlan { is_empty: extents.contains(&0), axes, dst_offset: dst.offset, src_offset: src.offset };
        plan.reduce();
        Ok(plan)
    }

    fn reduce(&mut self) {
        self.axes.retain(|axis| axis.extent != 1);
        self.axes.sort_by_key(|axis| std::cmp::Reverse(axis.dst));
        self.axes.dedup_by(|inner, outer| {
            let continues = inner.extent.checked_mul(inner.dst) == Some(outer.dst)
                && inner.extent.checked_mul(inner.src) == Some(outer.src);
            let extent = inner.extent.checked_mul(outer.extent);
            match extent {
                Some(extent) if continues => {
                    *outer = Axis { extent, ..*inner };
                    true
                }
                _ => false,
            }
        });
    }

    /// The same plan with every element split into `parts` of its own.
    pub(crate) fn split_elements(mut self, parts: usize) -> Result<Self> {
        let overflow = || Error::invalid("a box exceeds the address space");
        let scale = |value: &mut usize| -> Result<()> {
            *value = value.checked_mul(parts).ok_or_else(overflow)?;
            Ok(())
        };
        scale(&mut self.dst_offset)?;
        scale(&mut self.src_offset)?;
        for axis in &mut self.axes {
            scale(&mut axis.dst)?;
            scale(&mut axis.src)?;
        }
        self.is_empty |= parts == 0;
        self.axes.push(Axis { extent: parts, dst: 1, src: 1 });
        self.reduce();
        Ok(self)
    }

    /// Checks that every element of a box that is not empty lies inside buffers of these lengths, and that the
    /// destination has room for all cells apart, which bounds the time of a copy by the length of the destination.
    pub(crate) fn check_reach(&self, dst_len: usize, src_len: usize) -> Result<()> {
        let cell_count = self.axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.extent));
        if cell_count.is_none_or(|count| count > dst_len) {
            return Err(Error::invalid(format!(
                "the box has more cells than the {dst_len} elements of the destination"
            )));
        }
        let reach = |offset: usize, step: fn(&Axis) -> usize| {
            self.axes
                .iter()
                .try_fold(offset, |end, axis| end.checked_add((axis.extent - 1).checked_mul(step(axis))?))
        };
        for (name, len, last) in [
            ("destination", dst_len, reach(self.dst_offset, |axis| axis.dst)),
            ("source", src_len, reach(self.src_offset, |axis| axis.src)),
        ] {
            if last.is_none_or(|last| last >= len) {
                return Err(Error::invalid(format!(
                    "the box reaches beyond the {len} elements of the {name}"
                )));
            }
        }
        Ok(())
    }

    /// Calls `visit` with the destination and source element at which each position of the first `outer` axes begins.
    #[inline(always)]
    pub(crate) fn for_each_start(&self, outer: usize, visit: impl FnMut(usize, usize)) {
        for_each_start(&self.axes[..outer], self.dst_offset, self.src_offset, visit);
    }
}

/// Calls `visit` with the destination and source element of every position of some axes, the last axis fastest.
#[inline(always)]
pub(crate) fn for_each_start(axes: &[Axis], dst: usize, src: usize, mut visit: impl FnMut(usize, usize)) {
    let Some((line, outer)) = axes.split_last() else {
        return visit(dst, src);
    };
    let mut odometer = Odometer::new(outer.len(), dst, src);
    loop {
        let (mut dst, mut src) = (odometer.dst, odometer.src);
        for _ in 0..line.extent {
            visit(dst, src);
            // Wraps after the last step at most, whose result is not used.
            dst = dst.wrapping_add(line.dst);
            src = src.wrapping_add(line.src);
        }
        if !odometer.step(outer) {
            return;
        }
    }
}

/// A position in a box, counted up with the last axis fastest.
#[derive(Debug, Clone)]
struct Odometer {
    counts: Vec<usize>,
    dst: usize,
    src: usize,
}

impl Odometer {
    fn new(axis_count: usize, dst: usize, src: usize) -> Self {
        Odometer { counts: vec![0; axis_count], dst, src }
    }

    #[inline]
    fn step(&mut self, axes: &[Axis]) -> bool {
        for (count, axis) in self.counts.iter_mut().zip(axes).rev() {
            *count += 1;
            if *count < axis.extent {
                // Wrapping, because the caller of `box_runs` may have no buffers that bound the reach.
                self.dst = self.dst.wrapping_add(axis.dst);
                self.src = self.src.wrapping_add(axis.src);
                return true;
            }
            *count = 0;
            self.dst = self.dst.wrapping_sub(axis.dst.wrapping_mul(axis.extent - 1));
            self.src = self.src.wrapping_sub(axis.src.wrapping_mul(axis.extent - 1));
        }
        false
    }
}

/// The runs of a box that are contiguous in both buffers, in the order of the destination.
///
/// For cells that cannot be copied as fixed-size elements: variable-length values, validity bits, selections.
/// Where the innermost steps differ, every run has one cell. The runs say nothing about the buffers' lengths: check
/// them where they are used.
///
/// # Errors
/// `InvalidArgument` when the numbers of dimensions differ or the extents exceed the address space.
pub fn box_runs(dst: Geometry<'_>, src: Geometry<'_>, extents: &[u64]) -> Result<BoxRuns> {
    let mut plan = BoxPlan::new(dst, src, extents)?;
    let run_len = match plan.axes.last() {
        Some(axis) if axis.dst == 1 && axis.src == 1 => {
            let len = axis.extent;
            plan.axes.pop();
            len
        }
        _ => 1,
    };
    let odometer = (!plan.is_empty).then(|| Odometer::new(plan.axes.len(), plan.dst_offset, plan.src_offset));
    Ok(BoxRuns { axes: plan.axes, odometer, run_len })
}

/// Iterator over `(destination element, source element, cell count)`; see [`box_runs`].
#[derive(Debug, Clone)]
pub struct BoxRuns {
    axes: Vec<Axis>,
    odometer: Option<Odometer>,
    run_len: usize,
}

impl BoxRuns {
    /// The length of every run, in cells.
    pub fn run_len(&self) -> usize {
        self.run_len
    }
}

impl Iterator for BoxRuns {
    type Item = (usize, usize, usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let odometer = self.odometer.as_mut()?;
        let run = (odometer.dst, odometer.src, self.run_len);
        if !odometer.step(&self.axes) {
            self.odometer = None;
        }
        Some(run)
    }
}
