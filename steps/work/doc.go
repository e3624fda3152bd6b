// Package work does the step blocks that prepare what is measured: git, docker build,
// docker run and commands. Each says by its keys what its outcome rests on, and leaves
// nothing running. It measures nothing and decides nothing about a feature.
package work
