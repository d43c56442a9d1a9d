//! The report on the second serial port.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use anyhow::{Context as _, Result};

use crate::lab::protocol::{REPORT_DEVICE, Report};

/// Writes report lines.
#[derive(Debug)]
pub(super) struct Reporter {
    port: File,
}

impl Reporter {
    pub(super) fn open() -> Result<Self> {
        let port = OpenOptions::new().write(true).open(REPORT_DEVICE);
        Ok(Self {
            port: port.with_context(|| format!("open {REPORT_DEVICE}"))?,
        })
    }

    /// Writes one line and waits until it has left the port, so that nothing is lost when the machine goes off.
    pub(super) fn send(&mut self, report: &Report) -> Result<()> {
        let mut line = serde_json::to_string(report).context("encode a report line")?;
        line.push('\n');
        self.port
            .write_all(line.as_bytes())
            .with_context(|| format!("write to {REPORT_DEVICE}"))?;
        rustix::termios::tcdrain(&self.port).with_context(|| format!("drain {REPORT_DEVICE}"))
    }
}
