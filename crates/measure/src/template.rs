//! Texts with placeholders: `-m={m}`. `{{` and `}}` are literal braces.

use serde::Deserialize;

/// A text with named placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(String),
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let from = &rest[at..];
            let lone = |brace: char| {
                let at = text.len() - from.len();
                let expected = format!("'{{name}}', or '{brace}{brace}' for the brace itself");
                format!("'{text}', byte {at}: found a single '{brace}', expected {expected}")
            };
            if let Some(after) = from.strip_prefix("{{") {
                literal.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                literal.push('}');
                rest = after;
            } else if let Some(after) = from.strip_prefix('{') {
                let (name, after) = after.split_once('}').ok_or_else(|| lone('{'))?;
                if name.contains('{') {
                    return Err(lone('{'));
                }
                parts.push(Part::Text(std::mem::take(&mut literal)));
                parts.push(Part::Place(name.to_owned()));
                rest = after;
            } else {
                return Err(lone('}'));
            }
        }
        literal.push_str(rest);
        parts.push(Part::Text(literal));
        Ok(Self { text, parts })
    }
}

impl Template {
    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Replaces every placeholder with its value; `None` if one has none.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let fill = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Place(name) => value(name),
        };
        self.parts.iter().map(fill).collect()
    }

    /// Fails on a placeholder with none of these names.
    pub fn check(&self, accepted: &[&str]) -> Result<(), String> {
        for part in &self.parts {
            if let Part::Place(name) = part
                && !accepted.contains(&name.as_str())
            {
                let (text, accepted) = (&self.text, accepted.join(", "));
                return Err(format!(
                    "'{text}': found the placeholder '{{{name}}}', expected one of: {accepted}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template(text: &str) -> Result<Template, String> {
        Template::try_from(text.to_owned())
    }

    #[test]
    fn places_are_filled() {
        let filled = template("-m={m},{{{k}}}").unwrap().fill(|name| Some(name.to_uppercase()));
        assert_eq!(filled.as_deref(), Some("-m=M,{K}"));
        assert_eq!(template("{a}{b}").unwrap().fill(|name| (name == "a").then(String::new)), None);
        let error = template("-x={q}").unwrap().check(&["m", "n"]).unwrap_err();
        assert_eq!(error, "'-x={q}': found the placeholder '{q}', expected one of: m, n");
    }

    #[test]
    fn lone_braces_are_told() {
        for (text, at, brace) in [("a{b", 1, '{'), ("a}b", 1, '}'), ("{a{b}}", 0, '{')] {
            let expected = format!("'{text}', byte {at}: found a single '{brace}', expected '{{name}}', or ");
            assert!(template(text).unwrap_err().starts_with(&expected));
        }
    }

    proptest! {
        #[test]
        fn doubled_braces_stay(text in "[a-z{}]{0,12}") {
            let doubled = text.replace('{', "{{").replace('}', "}}");
            prop_assert_eq!(template(&doubled).unwrap().fill(|_| None), Some(text));
        }
    }
}
