//! Memory and codec contexts that threads borrow for a task and give back.

use smalti_tile::KeptWorkspaces;
pub(crate) use smalti_tile::{SpareColumn, Workspace, room};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Workspaces: never more than tasks that ran at once, and never more than a limit.
#[derive(Debug)]
pub(crate) struct Workspaces {
    idle: Mutex<Idle>,
    given_back: Condvar,
    /// Where they come from, and go to at the end.
    kept: Option<Arc<KeptWorkspaces>>,
}

#[derive(Debug)]
struct Idle {
    workspaces: Vec<Workspace>,
    /// How many more may be made.
    left: usize,
    /// Tasks that wait for one: the system is asked to wake somebody only if there is somebody.
    waiting: usize,
}

impl Default for Workspaces {
    /// New ones, as many as there are tasks.
    fn default() -> Self {
        Workspaces::of(usize::MAX, None)
    }
}

impl Drop for Workspaces {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
            kept.give(idle.workspaces.drain(..));
        }
    }
}

impl Workspaces {
    /// Workspaces out of those that are kept, as many as there are tasks.
    pub(crate) fn out_of(kept: &Arc<KeptWorkspaces>) -> Self {
        Workspaces::of(usize::MAX, Some(Arc::clone(kept)))
    }

    /// From now on so many tasks have one at once, and others wait. No task may have one now.
    pub(crate) fn limit(&mut self, count: usize) {
        *self = Workspaces::of(count, self.kept.clone());
    }

    fn of(count: usize, kept: Option<Arc<KeptWorkspaces>>) -> Self {
        let idle = Idle { workspaces: Vec::new(), left: count.max(1), waiting: 0 };
        Workspaces { idle: Mutex::new(idle), given_back: Condvar::new(), kept }
    }

    /// Whether so many tasks can all have one at once.
    pub(crate) fn suffice(&self, task_count: usize) -> bool {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.workspaces.len().saturating_add(idle.left) >= task_count
    }

    /// Runs a task with a workspace of its own. The task must not start others that need one, unless they [suffice](Workspaces::suffice).
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut Workspace) -> T) -> T {
        let mut workspace = self.take();
        let result = task(&mut workspace);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.workspaces.is_empty() {
            // One is enough for a small read, and four, which a list begins with, would be much memory for it.
            idle.workspaces.reserve_exact(1);
        }
        idle.workspaces.push(workspace);
        let is_waited_for = idle.waiting > 0;
        drop(idle);
        if is_waited_for {
            self.given_back.notify_one();
        }
        result
    }

    fn take(&self) -> Workspace {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(workspace) = idle.workspaces.pop() {
                return workspace;
            }
            if idle.left > 0 {
                idle.left -= 1;
                drop(idle);
                return self.kept.as_ref().map_or_else(Workspace::default, |kept| kept.take());
            }
            idle.waiting += 1;
            idle = self.given_back.wait(idle).unwrap_or_else(PoisonError::into_inner);
            idle.waiting -= 1;
        }
    }
}
