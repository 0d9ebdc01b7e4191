package oracle

// allowed lists every difference from Kafka 4.4 that the gateway has on
// purpose. Patterns match whole strings.
var allowed = []allowance{}
