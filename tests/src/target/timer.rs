//! One thread that does things later: delayed answers, drops after a while.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::sync::lock;

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs when their time has come, in the order of their times. Clones are the same timer.
#[derive(Clone)]
pub(crate) struct Timer(Arc<Shared>);

struct Shared {
    agenda: Mutex<Agenda>,
    changed: Condvar,
}

#[derive(Default)]
struct Agenda {
    /// By time, then in the order they came.
    jobs: BTreeMap<(Instant, u64), Job>,
    came: u64,
    stopped: bool,
}

impl Timer {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let timer = Self(Arc::new(Shared {
            agenda: Mutex::default(),
            changed: Condvar::new(),
        }));
        let shared = Arc::clone(&timer.0);
        thread::Builder::new()
            .name("target-timer".to_owned())
            .spawn(move || shared.run())?;
        Ok(timer)
    }

    /// Runs the job once `delay` is over, unless the timer is stopped before.
    pub(crate) fn after(&self, delay: Duration, job: impl FnOnce() + Send + 'static) {
        let mut agenda = lock(&self.0.agenda);
        if !agenda.stopped {
            let number = agenda.came;
            agenda.came += 1;
            agenda
                .jobs
                .insert((Instant::now() + delay, number), Box::new(job));
            self.0.changed.notify_one();
        }
    }

    /// Ends the thread; what was to come is forgotten.
    pub(crate) fn stop(&self) {
        let mut agenda = lock(&self.0.agenda);
        agenda.stopped = true;
        agenda.jobs.clear();
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn run(&self) {
        let mut agenda = lock(&self.agenda);
        while !agenda.stopped {
            let now = Instant::now();
            let Some(next) = agenda.jobs.first_entry() else {
                agenda = self
                    .changed
                    .wait(agenda)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (due, _) = *next.key();
            if due <= now {
                let job = next.remove();
                drop(agenda);
                job();
                agenda = lock(&self.agenda);
            } else {
                let waited = self.changed.wait_timeout(agenda, due - now);
                agenda = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timer({} to come)", lock(&self.0.agenda).jobs.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn jobs_run_in_the_order_of_their_times() {
        let timer = Timer::start().unwrap();
        let (tell, told) = mpsc::channel();
        for (name, delay) in [("late", 40), ("early", 5), ("also early", 5)] {
            let tell = tell.clone();
            timer.after(Duration::from_millis(delay), move || {
                tell.send(name).unwrap();
            });
        }
        let order: Vec<_> = told.iter().take(3).collect();
        assert_eq!(order, ["early", "also early", "late"]);
    }

    #[test]
    fn a_stopped_timer_runs_nothing_more() {
        let timer = Timer::start().unwrap();
        let (tell, told) = mpsc::channel::<()>();
        timer.after(Duration::from_millis(20), move || {
            tell.send(()).unwrap();
        });
        timer.stop();
        assert!(told.recv_timeout(Duration::from_millis(60)).is_err());
    }
}
