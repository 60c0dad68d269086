use super::ScheduleOptions;
use crate::message::Message;

/// The message that others follow from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    correlation_id: String,
    causation_id: String,
    tenant: String,
}

impl Origin {
    pub(crate) fn of(message: &Message) -> Self {
        let causation_id = message.id.to_string();
        Self {
            // A message without a conversation begins one.
            correlation_id: message.correlation_id.clone().unwrap_or_else(|| causation_id.clone()),
            causation_id,
            tenant: message.tenant.clone(),
        }
    }

    /// The options, with what they leave open taken from here.
    pub(crate) fn complete(&self, mut options: ScheduleOptions) -> ScheduleOptions {
        options.correlation_id.get_or_insert_with(|| self.correlation_id.clone());
        options.causation_id.get_or_insert_with(|| self.causation_id.clone());
        options.tenant.get_or_insert_with(|| self.tenant.clone());
        options
    }
}
