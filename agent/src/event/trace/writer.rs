//! Events to lines.

use std::io::{self, Write};

use crate::event::Envelope;

use super::{Header, line::Line};

/// Writes a trace.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn create(mut output: W, header: &Header) -> io::Result<Self> {
        serde_json::to_writer(&mut output, header)?;
        output.write_all(b"\n")?;
        Ok(Self { output })
    }

    /// Writes an event.
    pub fn write(&mut self, envelope: &Envelope) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, &Line::of(envelope))?;
        self.output.write_all(b"\n")
    }

    /// Hands on what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// The line of one event.
pub fn line(envelope: &Envelope) -> serde_json::Result<String> {
    serde_json::to_string(&Line::of(envelope))
}
