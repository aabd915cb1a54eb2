"""The coordination store in etcd. Needs the extra `cluster` of acklog-server (grpcio, protobuf)."""
