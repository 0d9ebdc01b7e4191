// Package users keeps the SCRAM credentials of users: those that clients make
// with AlterUserScramCredentials (KIP-554), in the store of the gateway, and those
// of a file that its operator writes, from which the first administrator comes.
//
// The [Store] answers logins from memory. What it is told to change it writes to
// the backend first, in one step, so that a restart finds all of a change or
// nothing; only then is it in force.
//
// A line of the users file, and the value of an entry in the store, look as
// PostgreSQL writes them (pg_authid.rolpassword), with the user's name before it:
//
//	alice:SCRAM-SHA-512$4096:<salt>$<stored key>:<server key>
//
// Salt and keys are in base64. A user of the file has only what the file says:
// entries of the same name in the store are not looked at, and clients cannot
// alter it.
package users
