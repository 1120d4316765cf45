//! What an operation that fails or is cut short may leave: the state before it or after it, on which it and every other
//! operation do what they do on whole arrays.

use super::ground::Ground;
use super::operation::Operation;
use super::state::State;
use smalti_array::ArrayPlace;
use smalti_store::Image;
use smalti_types::{ErrorKind, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;

/// What is seen of an array at all times, or why not.
type Seen = std::result::Result<Vec<State>, ErrorKind>;

/// What an operation answered, and what was seen then.
#[derive(Debug, Clone, PartialEq)]
struct Outcome {
    error: Option<ErrorKind>,
    seen: Seen,
}

/// An operation with the states around it.
pub struct Expectation<G: Ground = Image> {
    operation: Operation,
    /// Before and after.
    images: [G; 2],
    seen: [Seen; 2],
    /// The steps of the operation.
    pub steps: Vec<G::Step>,
    /// What other operations do to both images.
    outcomes: RefCell<HashMap<(String, usize), Outcome>>,
}

/// How the caller learned of the operation's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It succeeded: from now on everybody sees it.
    Success,
    /// It failed, and the error says no more: it has no effect.
    Failure,
    /// Not at all, or with an error that says that the effect is unknown.
    Unknown,
}

impl<G: Ground> Expectation<G> {
    /// Runs an operation, which must succeed, to learn what it does.
    pub fn new(base: &G, operation: Operation) -> Self {
        let live = base.live();
        let before = seen(&G::place(&live));
        let place = G::place(&live);
        if let Err(error) = operation.run(&place) {
            panic!("{operation:?}: {error}");
        }
        Expectation {
            operation,
            images: [base.clone(), G::image_of(&live)],
            seen: [before, seen(&place)],
            steps: G::steps_of(&live),
            outcomes: RefCell::default(),
        }
    }

    /// The image after the operation.
    pub fn image_after(&self) -> &G {
        &self.images[1]
    }

    /// What is seen now, before (0) or after (1); nothing where there is no array.
    pub fn latest(&self, side: usize) -> Option<&State> {
        self.seen[side].as_ref().ok().and_then(|states| states.last())
    }

    /// Checks what the operation has left: that it shows the state before or after, as was answered; and that the operation
    /// can be repeated, and another one performed, with the outcome that they would have had otherwise.
    pub fn check(&self, left: &G, answer: Answer, other: Operation, context: &dyn Display) {
        let found = seen_on(left).unwrap_or_else(|error| panic!("{context}: {error}"));
        let possible: &[usize] = match answer {
            Answer::Success => &[1],
            Answer::Failure => &[0],
            Answer::Unknown => &[0, 1],
        };
        // Upkeep that fails may have done a part, of which nothing is seen but that a past is gone.
        let possible =
            if self.operation.is_upkeep() && answer != Answer::Success { &[0, 1] } else { possible };
        let sides = self.sides(possible, &found);
        assert!(!sides.is_empty(), "{context}: {answer:?}, but seen is\n{found:?}\nof\n{:?}", self.seen);
        for operation in [self.operation, other] {
            let live = left.live();
            let error = operation.run(&G::place(&live)).err();
            let found = seen(&G::place(&live));
            let outcomes: Vec<Outcome> = sides.iter().map(|&side| self.outcome(operation, side)).collect();
            let is_known = outcomes.iter().any(|outcome| outcome.error == error.as_ref().map(|e| e.kind()));
            assert!(is_known, "{context}: then {operation:?}: {error:?}");
            let expected: Vec<&Seen> = outcomes.iter().map(|outcome| &outcome.seen).collect();
            assert!(
                is_one_of(&found, &expected),
                "{context}: then {operation:?} left\n{found:?}\nnot\n{outcomes:?}"
            );
        }
    }

    /// Which of the states it may be; for upkeep anything between the two is both.
    fn sides(&self, possible: &[usize], found: &Seen) -> Vec<usize> {
        if self.operation.is_upkeep() && possible.len() == 2 {
            return if is_one_of(found, &[&self.seen[0], &self.seen[1]]) { vec![0, 1] } else { Vec::new() };
        }
        possible.iter().copied().filter(|&side| self.seen[side] == *found).collect()
    }

    fn outcome(&self, operation: Operation, side: usize) -> Outcome {
        let key = (format!("{operation:?}"), side);
        if let Some(known) = self.outcomes.borrow().get(&key) {
            return known.clone();
        }
        let live = self.images[side].live();
        let error = operation.run(&G::place(&live)).err().map(|error| error.kind());
        let outcome = Outcome { error, seen: seen(&G::place(&live)) };
        self.outcomes.borrow_mut().insert(key, outcome.clone());
        outcome
    }
}

/// Whether each thing at each time is as in one of some states.
fn is_one_of(found: &Seen, expected: &[&Seen]) -> bool {
    let Ok(found) = found else { return expected.contains(&found) };
    let expected: Vec<&Vec<State>> = expected.iter().filter_map(|seen| seen.as_ref().ok()).collect();
    found.iter().enumerate().all(|(at, found)| {
        let any = |is_same: &dyn Fn(&State) -> bool| expected.iter().any(|states| is_same(&states[at]));
        any(&|state| state.cells == found.cells)
            && any(&|state| state.metadata == found.metadata)
            // Of a past that is gone fragments may be listed, or not.
            && (found.cells.is_none() || any(&|state| state.non_empty_domain == found.non_empty_domain))
            && any(&|state| state.schema == found.schema)
            && any(&|state| state.warnings == found.warnings)
    })
}

fn seen_on<G: Ground>(image: &G) -> Result<Seen> {
    match State::history(&G::place(&image.live())) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Err(ErrorKind::NotFound)),
        states => states.map(Ok),
    }
}

fn seen(place: &ArrayPlace) -> Seen {
    State::history(place).map_err(|error| error.kind())
}
