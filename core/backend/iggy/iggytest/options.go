package iggytest

// Option changes how a server runs.
type Option func(*options)

type options struct {
	env       []string
	cert, key string
	segment   uint64 // size of a segment, in bytes; 0 is Iggy's default
	lose      int
}

// Env sets one more variable of the environment of a real server.
func Env(name, value string) Option {
	return func(o *options) { o.env = append(o.env, name+"="+value) }
}

// NoFsync has the server leave data in the page cache, which kill -9 does not
// lose.
func NoFsync() Option {
	return func(o *options) {
		o.env = append(o.env, "IGGY_SYSTEM_PARTITION_ENFORCE_FSYNC=false", "IGGY_SYSTEM_STATE_ENFORCE_FSYNC=false")
	}
}

// Retention has a real server cut its logs: segments of 1 MiB, looked at every
// 200 ms. The stand-in takes topics of that size and cuts nothing by itself.
func Retention() Option {
	return func(o *options) {
		o.segment = 1 << 20
		o.env = append(o.env, "IGGY_SYSTEM_SEGMENT_SIZE=1 MiB",
			"IGGY_DATA_MAINTENANCE_MESSAGES_CLEANER_ENABLED=true", "IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL=200 ms")
	}
}

// TLS has the server speak TLS with a certificate and its key, files in PEM.
func TLS(certFile, keyFile string) Option {
	return func(o *options) { o.cert, o.key = certFile, keyFile }
}

// Lossy has the server save messages only now and then, as Iggy does by default:
// a kill loses some. The stand-in loses the last n of every partition; how many
// the real server loses is not said.
func Lossy(n int) Option {
	return func(o *options) {
		o.lose = n
		o.env = append(o.env, "IGGY_SYSTEM_PARTITION_MESSAGES_REQUIRED_TO_SAVE=1024")
	}
}

func collect(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// environment is what iggy-server is started with.
func (o options) environment(address, data string) []string {
	env := []string{
		"IGGY_ROOT_USERNAME=" + Username, "IGGY_ROOT_PASSWORD=" + Password,
		"IGGY_SYSTEM_PATH=" + data, "IGGY_TCP_ADDRESS=" + address,
		"IGGY_HTTP_ENABLED=false", "IGGY_QUIC_ENABLED=false", "IGGY_WEBSOCKET_ENABLED=false",
		"IGGY_SYSTEM_LOGGING_FILE_ENABLED=false", "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1",
		"IGGY_SYSTEM_PARTITION_MESSAGES_REQUIRED_TO_SAVE=1",
		"IGGY_SYSTEM_PARTITION_ENFORCE_FSYNC=true", "IGGY_SYSTEM_STATE_ENFORCE_FSYNC=true",
	}
	if o.cert != "" {
		env = append(env, "IGGY_TCP_TLS_ENABLED=true", "IGGY_TCP_TLS_SELF_SIGNED=false",
			"IGGY_TCP_TLS_CERT_FILE="+o.cert, "IGGY_TCP_TLS_KEY_FILE="+o.key)
	}
	return append(env, o.env...)
}
