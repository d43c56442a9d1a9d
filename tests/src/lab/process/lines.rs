//! Lines that a process prints, collected on a thread and shown on the console as they come.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, anyhow};

use crate::lab::clock::BootNs;

/// Lines, each with the moment it was read.
pub(crate) type Collected = Vec<(BootNs, String)>;

/// The lines of one stream, each with the moment it was read.
#[derive(Debug)]
pub(super) struct Lines {
    collected: Arc<Mutex<Collected>>,
    reader: Option<JoinHandle<()>>,
}

impl Lines {
    /// Reads `stream` to its end. `name` goes before each line on the console.
    pub(super) fn collect(name: &'static str, stream: impl Read + Send + 'static) -> Result<Self> {
        let collected = Arc::new(Mutex::new(Collected::new()));
        let into = Arc::clone(&collected);
        let reader = std::thread::Builder::new()
            .name(format!("{name} lines"))
            .spawn(move || {
                // A stream that cannot be read further has ended: its process is gone.
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let at = BootNs::now();
                    eprintln!("{name}: {line}");
                    lock(&into).push((at, line));
                }
            })
            .with_context(|| format!("start the thread that reads {name} lines"))?;
        Ok(Self {
            collected,
            reader: Some(reader),
        })
    }

    /// What came so far.
    pub(super) fn so_far(&self) -> Collected {
        lock(&self.collected).clone()
    }

    /// The last lines as one text, for an error.
    pub(super) fn tail(&self) -> String {
        const LINES: usize = 10;
        let collected = lock(&self.collected);
        let last = &collected[collected.len().saturating_sub(LINES)..];
        match last {
            [] => "nothing printed".to_owned(),
            _ => last
                .iter()
                .map(|(_, line)| line.as_str())
                .collect::<Vec<_>>()
                .join(" | "),
        }
    }

    /// Waits for the stream's end.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.reader.take().map(JoinHandle::join) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(anyhow!("a thread that reads lines panicked")),
        }
    }
}

/// Lines are only ever added: whole even if a thread panicked beside them.
fn lock(collected: &Mutex<Collected>) -> MutexGuard<'_, Collected> {
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_collected_to_the_streams_end_with_or_without_a_line_end() {
        let mut lines = Lines::collect("test", &b"one\ntwo"[..]).unwrap();
        lines.finish().unwrap();
        let texts: Vec<_> = lines.so_far().into_iter().map(|(_, line)| line).collect();
        assert_eq!(texts, ["one", "two"]);
        assert_eq!(lines.tail(), "one | two");
    }
}
