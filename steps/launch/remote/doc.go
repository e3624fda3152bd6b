// Package remote has launches made by mxflow on other machines. A Pool, on the machine
// that applies, starts a worker for each slot of the plan's executor by a command such as
// ssh or srun, and communicates only over that command's input and output: when mxflow
// ends, the connection ends, and with it the worker and everything that it started. A
// launch whose result did not arrive completely is lost, and never counts. The worker is
// in package steps/apply, and makes a launch as an apply on that machine would.
package remote
