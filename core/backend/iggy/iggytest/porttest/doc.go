// Package porttest reserves ports of 127.0.0.1 for servers that tests stop and
// start again.
package porttest
