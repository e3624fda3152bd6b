package redact

import "regexp"

// SecretName reports whether a variable's value is nobody's business by its name,
// although no plan has declared it sensitive: HF_TOKEN.
func SecretName(name string) bool { return secretNames.MatchString(name) }

// secretNames are variables whose values are nobody's business, though no plan
// has declared them sensitive.
var secretNames = regexp.MustCompile(`(?i)(^|_)(TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH|COOKIE)$`)
