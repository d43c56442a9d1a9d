//! Timeouts that let I/O hang for ever, or that outlive a migration: `loss-timeout`.

use super::super::{Case, Fact, Finding, Kind, OWNER, Verdict};
use crate::fabric::{Controller, Limit};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for controller in case.controllers() {
        let Some(loss) = controller.ctrl_loss_tmo.value() else {
            continue;
        };
        let lines = match too_long_for_a_migration(case, controller, *loss) {
            Some(lines) => lines,
            None if *loss == Limit::Off
                && controller.fast_io_fail_tmo.value() == Some(&Limit::Off) =>
            {
                vec![
                    "ctrl_loss_tmo and fast_io_fail_tmo are both off".to_owned(),
                    "if the target does not come back its I/O hangs for ever".to_owned(),
                ]
            }
            None => continue,
        };
        let mut finding = case.about(Kind::LossTimeout, controller, Verdict::ReportOnly);
        finding.evidence = lines;
        findings.push(finding);
    }
}

/// A path that we connected for a migration gets a short timeout, so that the kernel gives it back by itself.
fn too_long_for_a_migration(
    case: &Case<'_>,
    controller: &Controller,
    loss: Limit,
) -> Option<Vec<String>> {
    let Fact::Known(owners) = &case.subject.node.owners else {
        return None;
    };
    let ours = owners
        .get(&controller.name)
        .is_some_and(|owner| owner == OWNER);
    let nqn = controller.subsysnqn.value()?;
    let allowed = case.subject.expectation.profile(nqn)?.max_ctrl_loss;
    // The kernel stores attempts and shows attempts times the pause between them, rounded up. Without the pause it
    // cannot be told by how much.
    let bound = match (controller.reconnect_delay.value(), loss) {
        (Some(Limit::After(pause)), _) => Limit::After(allowed + *pause),
        (_, Limit::Off) => Limit::After(allowed),
        _ => return None,
    };
    (ours && loss > bound).then(|| {
        vec![format!(
            "connected for a migration with ctrl_loss_tmo {loss}, where at most {} s are wanted",
            allowed.as_secs()
        )]
    })
}
