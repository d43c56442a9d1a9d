//! Lines to events.

use std::io::BufRead;

use crate::event::Envelope;

use super::{
    Header, VERSION,
    line::{Lack, Line},
};

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file.
    #[error("cannot read line {line}")]
    Io {
        /// Which line, from 1.
        line: usize,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no line at all.
    #[error("it is empty")]
    Empty,
    /// The first line is not a trace's.
    #[error("line 1 is no trace header such as {{\"trace\":1,…}}")]
    NoHeader(#[source] serde_json::Error),
    /// A later version wrote it.
    #[error("it is of trace version {0}; this program reads up to version {VERSION}")]
    Newer(u32),
    /// Its times are of a clock that this version does not know.
    #[error("its clock is \"{0}\", not \"boot\"")]
    Clock(String),
    /// A line is not JSON, or a value in it is not of its key's type.
    #[error("line {line}")]
    Line {
        /// Which line, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A key is missing, or its value means nothing.
    #[error("line {line}: an event \"{word}\" needs \"{key}\"")]
    Key {
        /// Which line, from 1.
        line: usize,
        /// The event's word.
        word: String,
        /// The key.
        key: &'static str,
    },
}

/// Reads a trace, event by event.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    line: usize,
    text: Vec<u8>,
    passed_over: Vec<(usize, String)>,
}

/// How many of the lines that were passed over are told one by one.
const TOLD: usize = 16;

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    pub fn open(mut input: R) -> Result<Self, TraceError> {
        let mut text = Vec::new();
        let read = input.read_until(b'\n', &mut text);
        read.map_err(|source| TraceError::Io { line: 1, source })?;
        if text.is_empty() {
            return Err(TraceError::Empty);
        }
        let header: Header = serde_json::from_slice(&text).map_err(TraceError::NoHeader)?;
        if header.trace > VERSION {
            return Err(TraceError::Newer(header.trace));
        }
        if header.clock != "boot" {
            return Err(TraceError::Clock(header.clock));
        }
        Ok(Self {
            input,
            header,
            line: 1,
            text,
            passed_over: Vec::new(),
        })
    }

    /// The first line.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next event; none at the end. A last line that was cut off in the middle is passed over.
    pub fn next_event(&mut self) -> Result<Option<Envelope>, TraceError> {
        loop {
            self.text.clear();
            self.line += 1;
            let line = self.line;
            let read = self.input.read_until(b'\n', &mut self.text);
            if read.map_err(|source| TraceError::Io { line, source })? == 0 {
                return Ok(None);
            }
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            let parsed: Line<'_> = match serde_json::from_slice(&self.text) {
                Ok(parsed) => parsed,
                Err(error) if error.is_eof() && self.text.last() != Some(&b'\n') => {
                    self.passed_over.push((line, "cut off".to_owned()));
                    return Ok(None);
                }
                Err(source) => return Err(TraceError::Line { line, source }),
            };
            let word = parsed.word.clone();
            match parsed.into_envelope() {
                Ok(envelope) => return Ok(Some(envelope)),
                Err(Lack::Key(key)) => {
                    let word = word.into_owned();
                    return Err(TraceError::Key { line, word, key });
                }
                Err(Lack::Unknown) => {
                    let what = format!("unknown event \"{word}\"");
                    if self.passed_over.len() < TOLD {
                        self.passed_over.push((line, what));
                    }
                }
            }
        }
    }

    /// Lines that said something which is not known, and why.
    #[must_use]
    pub fn passed_over(&self) -> &[(usize, String)] {
        &self.passed_over
    }
}
