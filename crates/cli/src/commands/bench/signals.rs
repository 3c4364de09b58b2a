//! The signals that end a sweep.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::CliError;

/// The signals that end a sweep.
pub(super) const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// While it lives, [`ENDING`] signals end the sweep; dropped, they end the process again.
pub(super) struct Signals(&'static Handlers);

/// The handlers of [`ENDING`], registered once, because no default handler can be put back.
struct Handlers {
    /// Whether a signal ends the process: between sweeps.
    ends_process: Arc<AtomicBool>,
    /// The number of a sweep's last signal; 0 before the first.
    last_signal: Arc<AtomicUsize>,
    /// Whether Ctrl-C was pressed in a sweep. A second one ends this process at once, and the guard ends what
    /// it started. Other signals do not, since programs repeat them.
    interrupted: Arc<AtomicBool>,
}

impl Handlers {
    fn register() -> Result<Self, CliError> {
        let new =
            Self { ends_process: Arc::default(), last_signal: Arc::default(), interrupted: Arc::default() };
        for signal in ENDING {
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_conditional_default(signal, Arc::clone(&new.ends_process))?;
            flag::register_usize(signal, Arc::clone(&new.last_signal), number)?;
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
        handlers.last_signal.store(0, Ordering::Relaxed);
        handlers.interrupted.store(false, Ordering::Relaxed);
        handlers.ends_process.store(false, Ordering::Relaxed);
        Ok(Self(handlers))
    }

    /// The number of the sweep's last signal; 0 before the first.
    pub(super) fn last(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0.last_signal)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.ends_process.store(true, Ordering::Relaxed);
    }
}
