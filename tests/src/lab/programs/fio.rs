//! fio: random reads of a head, as many as the guest can do.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::{FIO, Finished, once};
use crate::lab::host::Head;

/// Bytes of one read.
const BLOCK: u64 = 4096;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// After this time.
    For(Duration),
    /// After so many reads, or after this time if they take longer.
    Count(u64, Duration),
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reads {
    /// How many reads.
    pub count: u64,
    /// From the first to the last.
    pub took: Duration,
    /// Reads a second.
    pub per_second: f64,
}

/// Reads 4 KiB blocks at random places, 32 at a time, past the page cache; the same places every time.
pub fn random_reads(head: &Head, amount: Amount) -> Result<Reads> {
    let device = head.device.to_string_lossy();
    let (limit, size) = match amount {
        Amount::For(time) => (time, "--time_based".to_owned()),
        Amount::Count(count, limit) => (limit, format!("--io_size={}", count * BLOCK)),
    };
    Reads::of(&once(
        FIO,
        &[
            "--name=reads",
            "--output-format=json",
            "--thread",
            "--rw=randread",
            "--norandommap",
            "--direct=1",
            "--ioengine=libaio",
            "--iodepth=32",
            &format!("--bs={BLOCK}"),
            &format!("--filename={device}"),
            &format!("--runtime={}ms", limit.as_millis()),
            &size,
        ],
    )?)
}

#[derive(Debug, Deserialize)]
struct Report {
    jobs: [Job; 1],
}

#[derive(Debug, Deserialize)]
struct Job {
    error: i32,
    read: Direction,
}

#[derive(Debug, Deserialize)]
struct Direction {
    total_ios: u64,
    /// ms
    runtime: u64,
    iops: f64,
}

impl Reads {
    fn of(finished: &Finished) -> Result<Self> {
        let Report { jobs: [job] } = finished.document("fio's report")?;
        ensure!(
            finished.code == 0 && job.error == 0,
            "fio ended with {}, error {}: {}",
            finished.code,
            job.error,
            finished.stderr.trim()
        );
        let read = job.read;
        let reads = (read.total_ios > 0 && read.iops > 0.0).then_some(Self {
            count: read.total_ios,
            took: Duration::from_millis(read.runtime),
            per_second: read.iops,
        });
        reads.context("fio read nothing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(job: &str) -> Result<Reads> {
        let print = format!(r#"echo '{{"fio version":"fio-3.33","jobs":[{job}]}}'"#);
        Reads::of(&once("/bin/sh", &["-c", &print]).unwrap())
    }

    #[test]
    fn reads_are_those_of_the_one_job() {
        let job = r#"{"error":0,"read":{"total_ios":900,"runtime":3000,"iops":300.0},"write":{}}"#;
        let expected = Reads {
            count: 900,
            took: Duration::from_secs(3),
            per_second: 300.0,
        };
        assert_eq!(reads(job).unwrap(), expected);
        assert!(reads(&format!("{job},{job}")).is_err());
    }

    #[test]
    fn reads_that_failed_or_are_none_are_no_measurement() {
        assert!(reads(r#"{"error":5,"read":{"total_ios":9,"runtime":1,"iops":9.0}}"#).is_err());
        assert!(reads(r#"{"error":0,"read":{"total_ios":0,"runtime":0,"iops":0.0}}"#).is_err());
    }
}
