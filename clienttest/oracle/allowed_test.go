package oracle

// allowed lists every difference from Kafka 4.4 that the gateway has on
// purpose. Patterns match whole strings.
var allowed = []allowance{
	// The wording of errors. Kafka leaves most of them without a word.
	{`Versions/coordinator of an odd kind .*`, `.*ErrorMessage`, `"This most likely .*`, `"Only consumer groups .*`, "says what is served instead"},
	{`Topics/replicas .*`, `.*ErrorMessage`, `"Unable to replicate .*`, `"Unable to replicate .*`, "brokers are not registered here"},
	{`Produce/.*`, `.*ErrorMessage`, `null|"Invalid magic.*|"One or more records.*|"Compacted topic.*`, `".*`, "a refused batch says what is wrong with it"},

	// Produce.
	{`Produce/null records v9`, `.*`, `absent|silent`, `.*`, "Kafka never answers null records"},
	{`Produce/(codec 6|garbage for gzip) .*`, `.*ErrorCode`, `-1`, `87`, "a batch that does not decompress is an invalid record, not a broken server"},
	{`Produce/.*`, `.*LogStartOffset`, `0`, `-1`, "an error carries no offsets"},
	{`Produce/idempotent, (again|the fifth last again) v9`, `.*LogAppendTime`, `1700000000000`, `-1`, "a duplicate has no append time on a CreateTime topic"},

	// Fetch.
	{`Fetch/negative sizes .*`, `.*`, `-1|""`, `.*`, "negative limits count as 0, which still lets one batch pass"},

	// Offsets and groups.
	{`Offsets/commit as a member of nothing .*`, `.*ErrorCode`, `22|69`, `25`, "groups do not outlive the gateway: 25 makes their members join again"},
	{`Groups/describe with operations .*`, `.*AuthorizedOperations`, `3400`, `-2147483648`, "operations of groups are computed where there is an authorizer"},

	// Tools.
	{`Tools/subscribe.*`, `DeltaTemporality`, `true`, `false`, "Prometheus counts in totals, and a lost push loses nothing"},
	{`Tools/last push again v0`, `ErrorCode`, `0`, `42`, "a client that has ended stays so; in Kafka a push that is refused makes it come back"},

	// Users.
	{`Users/no password .*`, `.*ErrorCode`, `-1`, `93`, "a missing password is the client's fault"},
	{`Users/no password .*`, `.*ErrorMessage`, `null`, `"Salt.*`, "the same"},

	// Configs.
	{`Topics/.*`, `.*Configs.*Source`, `3`, `5`, "Kafka sets min.insync.replicas for the whole cluster (KIP-966)"},
	{`Configs/all of a topic .*`, `.*Source`, `DYNAMIC_DEFAULT_BROKER_CONFIG`, `DEFAULT_CONFIG`, "the same"},
	{`Configs/change an odd operation .*`, `.*ErrorCode`, `-1`, `42`, "an unknown operation is the client's fault"},
	{`Configs/change an odd operation .*`, `.*ErrorMessage`, `null`, `".*`, "the same"},
}
