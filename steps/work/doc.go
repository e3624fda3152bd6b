// Package work does the step blocks that prepare what is measured: git, docker build,
// docker run and commands. The keys of each say what its outcome rests on; each leaves
// nothing running. It measures nothing and decides nothing about a feature.
package work
