module example.com/scripted

go 1.26.0

require github.com/iggykafka/gateway v0.0.0

replace github.com/iggykafka/gateway => ../..
