use super::super::full::message;
use super::{BY_MESSAGE, Case};

/// On a message that is ready twice and waits twice, and on one that is held and waits twice.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new("retry", 1, format!("'{}', 'charge'", message(100_007)))];
    for id in [message(7), message(200_007)] {
        cases.extend([
            Case::new("cancel", 4, format!("NULL, '{id}', NULL")).reading(&[BY_MESSAGE]),
            Case::new("cancel", 1, format!("NULL, '{id}', 'charge'")).reading(&[BY_MESSAGE]),
            Case::new("reschedule", 4, format!("NULL, '{id}', NULL, NULL, '1 min'")),
            Case::new("reschedule", 4, format!("NULL, '{id}', NULL, NULL, NULL")),
            Case::new("act_left", 1, format!("'{id}', NULL, '{{}}', false")),
            Case::new(
                "act_left",
                4,
                format!("'{id}', NULL, '{{charge,refund,ship,pack,gone}}', false"),
            ),
            Case::new(
                "act_left",
                4,
                format!("'{id}', NULL, '{{charge,refund,ship,pack,gone,\"\"}}', true"),
            )
            .reading(&[BY_MESSAGE]),
        ]);
    }
    cases
}
