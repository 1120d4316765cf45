//! The function between whose entry and exit instructions are counted.

use crate::case::Outcome;
use std::hint::black_box;

/// Does the work. The counter finds this function by its name, which no other function may have in its own.
#[inline(never)]
pub(crate) fn measured_kernel(work: &mut dyn FnMut() -> Outcome) -> Outcome {
    let outcome = work();
    // A call in the last place would become a jump, which is no exit.
    black_box(outcome)
}
