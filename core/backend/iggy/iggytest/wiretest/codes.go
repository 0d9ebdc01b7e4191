package wiretest

// Codes of requests.
const (
	Ping               = 1
	GetStats           = 10
	GetClusterMetadata = 12
	GetMe              = 20
	GetClient          = 21
	GetClients         = 22
	GetUser            = 31
	GetUsers           = 32
	CreateUser         = 33
	DeleteUser         = 34
	UpdateUser         = 35
	UpdatePermissions  = 36
	ChangePassword     = 37
	LoginUser          = 38
	LogoutUser         = 39
	GetTokens          = 41
	CreateToken        = 42
	DeleteToken        = 43
	LoginWithToken     = 44
	PollMessages       = 100
	SendMessages       = 101
	GetStream          = 200
	GetStreams         = 201
	CreateStream       = 202
	DeleteStream       = 203
	UpdateStream       = 204
	GetTopic           = 300
	GetTopics          = 301
	CreateTopic        = 302
	DeleteTopic        = 303
	UpdateTopic        = 304
	CreatePartitions   = 402
	DeletePartitions   = 403
)
