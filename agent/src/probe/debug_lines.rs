//! The programs' own debug lines, carried into the log. They exist when both halves were built for it: the agent with
//! the feature `ebpf-log`, the object with `cargo xtask build-ebpf --log`.

use aya::Ebpf;

/// Where the lines come from; nothing without the feature.
pub(super) struct DebugLines {
    #[cfg(feature = "ebpf-log")]
    logger: Option<aya_log::EbpfLogger<&'static dyn log::Log>>,
}

impl DebugLines {
    #[cfg(feature = "ebpf-log")]
    pub(super) fn of(ebpf: &mut Ebpf) -> Self {
        let logger = aya_log::EbpfLogger::init(ebpf);
        Self {
            logger: logger
                .inspect_err(|error| tracing::warn!("no debug lines of the programs: {error}"))
                .ok(),
        }
    }

    #[cfg(not(feature = "ebpf-log"))]
    pub(super) fn of(_: &mut Ebpf) -> Self {
        Self {}
    }

    /// Logs what has come.
    pub(super) fn flush(&mut self) {
        #[cfg(feature = "ebpf-log")]
        if let Some(logger) = &mut self.logger {
            logger.flush();
        }
    }
}
