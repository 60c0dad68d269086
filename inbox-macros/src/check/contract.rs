use super::name::name;
use crate::errors::Errors;
use crate::model::{self, Contract, Fields, Template};
use crate::words::NAME;

pub(crate) fn contract(contract: &Contract, errors: &mut Errors) {
    if let Some(literal) = &contract.name {
        name(literal, "contract name", NAME, errors);
    }
    let keys = &contract.keys;
    for template in [&keys.idempotency, &keys.ordering, &keys.concurrency].into_iter().flatten() {
        key_is_not_empty(template, errors);
        key_names_fields(template, &contract.fields, errors);
    }
    if let Some(template) = &keys.idempotency {
        idempotency_key_differs(template, errors);
    }
}

fn key_is_not_empty(template: &Template, errors: &mut Errors) {
    if template.format.is_empty() {
        errors.over(&template.literal, "the key is empty: write `{field}`, or leave it out");
    }
}

fn key_names_fields(template: &Template, fields: &Fields, errors: &mut Errors) {
    let names = match fields {
        Fields::Named(names) => names,
        Fields::OfEnum if template.fields.is_empty() => return,
        Fields::OfEnum => {
            errors.over(
                &template.literal,
                "an enum's variants share no fields, so a key cannot name one: wrap the enum in a \
                 struct that has the field",
            );
            return;
        }
        Fields::Unknown => return,
    };
    let first = template.fields.iter().filter_map(|path| path.first()).map(model::member_name);
    for unknown in first.filter(|name| !names.contains(name)) {
        let known: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("there is no field `{unknown}`; the fields are {known}");
        errors.over(&template.literal, message);
    }
}

/// Without a field the key is the same for every message.
fn idempotency_key_differs(template: &Template, errors: &mut Errors) {
    if template.fields.is_empty() && !template.format.is_empty() {
        errors.over(
            &template.literal,
            "this idempotency key names no field, so every message would be taken for a duplicate \
             of the first: write `{field}` into it",
        );
    }
}
