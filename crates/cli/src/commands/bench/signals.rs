//! The signals that end a sweep.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::CliError;

/// All of them.
pub(super) const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signals that end a sweep; when it is dropped, they end the process again.
pub(super) struct Signals(&'static Handlers);

/// The handlers of signals, which stay installed, since the default behaviour cannot be restored.
struct Handlers {
    /// Whether they end this process as usual.
    usual: Arc<AtomicBool>,
    /// The last one of a sweep.
    came: Arc<AtomicUsize>,
    /// Whether Ctrl-C was pressed in a sweep. A second one ends this process at once, and the guard ends what
    /// it started. Other signals do not, since programs repeat them.
    interrupted: Arc<AtomicBool>,
}

impl Handlers {
    fn register() -> Result<Self, CliError> {
        let new = Self { usual: Arc::default(), came: Arc::default(), interrupted: Arc::default() };
        for number in ENDING {
            flag::register_conditional_default(number, Arc::clone(&new.usual))?;
            flag::register_usize(number, Arc::clone(&new.came), usize::try_from(number).unwrap_or_default())?;
        }
        flag::register_conditional_shutdown(SIGINT, 128 + SIGINT, Arc::clone(&new.interrupted))?;
        flag::register(SIGINT, Arc::clone(&new.interrupted))?;
        Ok(new)
    }
}

impl Signals {
    pub(super) fn new() -> Result<Self, CliError> {
        static HANDLERS: OnceLock<Handlers> = OnceLock::new();
        let handlers = if let Some(handlers) = HANDLERS.get() {
            handlers
        } else {
            let handlers = Handlers::register()?;
            HANDLERS.get_or_init(|| handlers)
        };
        handlers.came.store(0, Ordering::Relaxed);
        handlers.interrupted.store(false, Ordering::Relaxed);
        handlers.usual.store(false, Ordering::Relaxed);
        Ok(Self(handlers))
    }

    /// The number of the last one that came; 0 if none has.
    pub(super) fn last(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0.came)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.usual.store(true, Ordering::Relaxed);
    }
}
