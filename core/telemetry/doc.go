// Package telemetry receives the metrics of clients (KIP-714) and shows them as
// Prometheus series, bounded in number.
//
// A client asks for a subscription, which names the metrics that the operator
// wants and how often, and pushes them then. A [Store] decides who may ask and
// push now, as a Kafka 4.4 broker does, reads what is pushed, and is a
// prometheus.Collector of the last values of each client.
//
// # Series
//
// The metric org.apache.kafka.producer.connection.count becomes
// kafka_client_producer_connection_count, with the attributes of the data point
// as labels, and client_id and client_instance_id. Monotonic sums are counters
// and end in _total; other sums and gauges are gauges; of histograms and summaries
// there are count and sum.
//
// # Bounds
//
// Clients choose ids, names and labels, so all of them are bounded in number and
// length, see [Config] and the constants of this package. What is above a bound
// is left out and counted.
package telemetry
