//! What is lacking, as the end of a sentence. Pure.

use crate::examine::Lack;

/// What the control plane does not grant, in words.
pub fn lack_in_words(lack: &Lack) -> String {
    let mut reasons = Vec::new();
    if !lack.verbs.is_empty() {
        reasons.push(format!(
            "the control plane does not let it {} clusters/proxy",
            lack.verbs.join(", ")
        ));
    }
    let groups = quoted(&lack.missing.groups);
    match (lack.missing.account, groups.as_slice()) {
        (false, []) => {}
        (true, []) => reasons.push("Karmada does not make it known to the member".to_owned()),
        (false, groups) => reasons.push(format!(
            "Karmada does not make its groups {} known to the member",
            groups.join(", ")
        )),
        (true, groups) => reasons.push(format!(
            "Karmada makes neither it nor its groups {} known to the member",
            groups.join(", ")
        )),
    }
    let reasons = reasons.join(", and ");
    match lack.passes_by_hand {
        true => {
            format!("it passes today by what was written into the member alone, while {reasons}")
        }
        false => reasons,
    }
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("{name:?}")).collect()
}
