// Package ssl secures the connections of listeners by TLS: it is the protocols
// SSL and SASL_SSL.
//
// A listener shows a certificate and, where tls.client_auth says so, asks its
// clients for one (mutual TLS). A client that shows one is the principal that
// Kafka's mapping rules make of the certificate's name (KIP-371,
// ssl.principal.mapping.rules); any other is User:ANONYMOUS.
//
// The files are watched. When they change, new connections get what is new and
// open ones go on with what they have; files that cannot be used change nothing,
// but are told of in the log and in the metrics. A session that began under other
// files is never resumed, so whom a new client_ca does not know is not let in.
//
// The parts: config.go (the section tls), files.go (reading and checking them),
// source.go (taking new ones), transport.go (the handshake), conn.go (its end), name.go and
// mapping.go (who a certificate is).
package ssl
