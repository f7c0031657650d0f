//! Test hooks: what to do when a step is reached, per thread.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use rustix::io::Errno;

use super::Step;

/// What happens instead of, or right before, a kernel call.
pub enum Action {
    /// The call is not made and fails so.
    Fail(Errno),
    /// The closure runs, then the call is made.
    Run(Box<dyn FnMut()>),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fail(errno) => write!(f, "Fail({errno:?})"),
            Self::Run(_) => f.write_str("Run"),
        }
    }
}

struct Hook {
    step: Step,
    nth: usize,
    forever: bool,
    action: Action,
}

thread_local! {
    /// This thread has hooks or a trace; the others pass by for next to nothing.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static HOOKS: RefCell<Vec<Hook>> = const { RefCell::new(Vec::new()) };
    /// The steps taken, while somebody traces them.
    static SEEN: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
}

/// Hooks of this thread; dropping it removes them all.
#[derive(Debug)]
pub struct Armed(());

impl Drop for Armed {
    fn drop(&mut self) {
        HOOKS.with_borrow_mut(Vec::clear);
        // A trace around the hooks may go on.
        WATCHED.set(SEEN.with_borrow(Option::is_some));
    }
}

/// Acts at the `nth` time (from 0) that this thread reaches the step.
pub fn arm(step: Step, nth: usize, action: Action) -> Armed {
    add(step, nth, false, action);
    Armed(())
}

/// Acts every time that this thread reaches the step.
pub fn arm_always(step: Step, action: Action) -> Armed {
    add(step, 0, true, action);
    Armed(())
}

fn add(step: Step, nth: usize, forever: bool, action: Action) {
    WATCHED.set(true);
    HOOKS.with_borrow_mut(|hooks| hooks.push(Hook { step, nth, forever, action }));
}

/// Runs the closure and answers the steps this thread took in it.
pub fn trace<T>(act: impl FnOnce() -> T) -> (T, Vec<Step>) {
    SEEN.set(Some(Vec::new()));
    WATCHED.set(true);
    let result = act();
    (result, SEEN.take().unwrap_or_default())
}

pub(super) fn pass(step: Step) -> Result<(), Errno> {
    if !WATCHED.get() {
        return Ok(());
    }
    watched(step)
}

fn watched(step: Step) -> Result<(), Errno> {
    SEEN.with_borrow_mut(|seen| seen.iter_mut().for_each(|seen| seen.push(step)));
    let due = HOOKS.with_borrow_mut(|hooks| {
        let at = hooks.iter_mut().position(|hook| hook.step == step && reached(hook))?;
        Some(hooks.remove(at))
    });
    let Some(mut hook) = due else { return Ok(()) };
    let result = match &mut hook.action {
        Action::Fail(errno) => Err(*errno),
        Action::Run(closure) => {
            closure();
            Ok(())
        }
    };
    if hook.forever {
        HOOKS.with_borrow_mut(|hooks| hooks.push(hook));
    }
    result
}

fn reached(hook: &mut Hook) -> bool {
    if hook.forever || hook.nth == 0 {
        return true;
    }
    hook.nth -= 1;
    false
}
