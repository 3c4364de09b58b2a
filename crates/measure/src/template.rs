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

/// An invalid template, or one with an unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A brace without its partner.
    #[error(
        "'{text}', byte {at}: found a single '{brace}', expected '{{name}}', \
         or '{brace}{brace}' for the brace itself"
    )]
    Brace {
        /// The whole text.
        text: String,
        /// Where the brace stands.
        at: usize,
        /// The brace.
        brace: char,
    },
    /// A name that has no value.
    #[error("'{text}': found the placeholder '{{{name}}}', expected one of: {}", accepted.join(", "))]
    Unknown {
        /// The whole text.
        text: String,
        /// The unknown name.
        name: String,
        /// The known names.
        accepted: Vec<String>,
    },
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let from = &rest[at..];
            let lone =
                |brace| TemplateError::Brace { text: text.clone(), at: text.len() - from.len(), brace };
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
    pub fn check(&self, accepted: &[&str]) -> Result<(), TemplateError> {
        for part in &self.parts {
            if let Part::Place(name) = part
                && !accepted.contains(&name.as_str())
            {
                let accepted = accepted.iter().map(|&name| name.to_owned()).collect();
                return Err(TemplateError::Unknown { text: self.text.clone(), name: name.clone(), accepted });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template(text: &str) -> Result<Template, TemplateError> {
        Template::try_from(text.to_owned())
    }

    #[test]
    fn places_are_filled() {
        let filled = template("-m={m},{{{k}}}").unwrap().fill(|name| Some(name.to_uppercase()));
        assert_eq!(filled.as_deref(), Some("-m=M,{K}"));
        assert_eq!(template("{a}{b}").unwrap().fill(|name| (name == "a").then(String::new)), None);
        let error = template("-x={q}").unwrap().check(&["m", "n"]).unwrap_err().to_string();
        assert_eq!(error, "'-x={q}': found the placeholder '{q}', expected one of: m, n");
    }

    #[test]
    fn lone_braces_are_told() {
        for (text, at, brace) in [("a{b", 1, '{'), ("a}b", 1, '}'), ("{a{b}}", 0, '{')] {
            assert_eq!(template(text), Err(TemplateError::Brace { text: text.to_owned(), at, brace }));
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
