package redact

import "regexp"

// SecretName reports whether a variable's value is private by its name, such as HF_TOKEN,
// although no plan declares it sensitive.
func SecretName(name string) bool { return secretNames.MatchString(name) }

// secretNames matches the names of such variables.
var secretNames = regexp.MustCompile(`(?i)(^|_)(TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH|COOKIE)$`)
