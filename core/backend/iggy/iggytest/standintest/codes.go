package standintest

// Statuses of replies, named as Iggy names its errors.
const (
	errInvalidCommand          = 3
	errInvalidFormat           = 4
	errInvalidIdentifier       = 6
	errResourceNotFound        = 20
	errUnauthenticated         = 40
	errUnauthorized            = 41
	errInvalidCredentials      = 42
	errInvalidUsername         = 43
	errInvalidPassword         = 44
	errUserExists              = 46
	errUserInactive            = 47
	errCannotDeleteUser        = 48
	errCannotChangePermissions = 49
	errTokenAlreadyExists      = 51
	errTokenExpired            = 54
	errStreamNotFound          = 1009
	errStreamExists            = 1012
	errInvalidTopicSize        = 1019
	errTopicNotFound           = 2010
	errTopicExists             = 2013
	errTooManyPartitions       = 2015
	errInvalidPartitions       = 2019
	errPartitionNotFound       = 3007
	errInvalidMessagesCount    = 4009
	errTooBigUserHeaders       = 4017
	errTooBigMessagePayload    = 4022
	errNonZeroOffset           = 4031
	errNonZeroTimestamp        = 4032
	errMissingIndex            = 4033
	errInvalidOffset           = 4100
	errMessagesSize            = 4036
	errIndexPosition           = 10011
	errDisconnected            = 8
)
