//! Deletes that do not end: `delete-hung`.

use super::super::{Case, Finding, Kind, Verdict};
use super::{age_line, shown};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    let bound = case.subject.policy.delete_hung;
    for controller in &case.subject.host.controllers {
        // The attribute removes itself when a delete begins: a second write is not even possible.
        let under_way = controller.state.is_deleting() && controller.deletable == Some(false);
        let long = case
            .subject
            .past
            .age(controller)
            .is_some_and(|age| age > bound);
        if !under_way || !long || !controller.is_fabric() {
            continue;
        }
        let mut finding = case.about(Kind::DeleteHung, controller, Verdict::ReportOnly);
        finding.evidence = vec![
            format!("{}, and delete_controller is gone", controller.state_text()),
            format!("a delete takes less than {}", shown(bound)),
            age_line(&finding),
        ];
        findings.push(finding);
    }
}
