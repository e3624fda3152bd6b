// Package docker launches engines in containers: it finds the daemon as the
// docker command would, starts a container, follows its output into the
// launch's log and removes it. What it starts carries labels, by which Sweep
// finds what a killed mxflow left.
package docker
