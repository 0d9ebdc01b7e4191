"""kafka-python."""

import ssl

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.sasl.oauth import AbstractTokenProvider
from kafka.structs import OffsetAndMetadata

import harness


class Tokens(AbstractTokenProvider):
    def token(self):
        return harness.LOGIN["token"]


def security():
    """Returns the settings of security."""
    out, login = harness.security(), harness.LOGIN
    if login is not None:
        out["ssl_context"] = context = ssl.create_default_context(cafile=login["ca"])
        if login["pem"]:
            context.load_cert_chain(login["pem"])
        if not harness.SASL:
            # It takes the tickets of TLS 1.3 for an answer that it did not ask for and hangs up, unless it has
            # already asked for something.
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if login["mechanism"] == "OAUTHBEARER":
            out["sasl_oauth_token_provider"] = Tokens()
    return out


class Client:
    def __init__(self, addr):
        self.config = {"bootstrap_servers": addr, **security()}
        self.lazy_admin = None

    @property
    def admin(self):
        self.lazy_admin = self.lazy_admin or KafkaAdminClient(**self.config)
        return self.lazy_admin

    def create(self, topic, partitions):
        self.admin.create_topics([NewTopic(topic, partitions, 1)])

    def delete(self, topic):
        self.admin.delete_topics([topic])

    def produce(self, topic, codec, records):
        producer = KafkaProducer(**self.config, enable_idempotence=True,
                                 compression_type=None if codec == "none" else codec)
        futures = [producer.send(topic, value, key, headers, timestamp_ms=time)
                   for key, value, headers, time in harness.sent(records)]
        producer.flush()
        for future in futures:
            future.get(10)
        producer.close()

    def consumer(self, **config):
        return KafkaConsumer(**self.config, auto_offset_reset="earliest", enable_auto_commit=False,
                             fetch_max_wait_ms=200, **config)

    def read(self, topic, count, **rest):
        consumer, out = self.consumer(), []
        at = {TopicPartition(topic, p): o for p, o in harness.offsets(rest["from"]).items()}
        consumer.assign(list(at))
        for partition, offset in at.items():
            consumer.seek(partition, offset)
        while len(out) < count:
            out += take(consumer)
        consumer.close()
        return out

    def at(self, topic, time):
        consumer = self.consumer()
        found = consumer.offsets_for_times({TopicPartition(topic, p): time for p in harness.PARTITIONS})
        consumer.close()
        return {p.partition: at.offset for p, at in found.items()}

    def groups(self):
        return [name for name, _ in self.admin.list_consumer_groups()]

    def describe(self, group, topic):
        [g] = self.admin.describe_consumer_groups([group])
        members = [m.member_assignment.assignment if m.member_assignment else [] for m in g.members]
        return {"state": g.state, "members": [[p for t, ps in m if t == topic for p in ps] for m in members]}

    def join(self, group, topic):
        self.member = self.consumer(group_id=group, heartbeat_interval_ms=500)
        self.member.subscribe([topic])

    def poll(self):
        records = take(self.member)
        return {"records": records, "partitions": [p.partition for p in self.member.assignment()]}

    def commit(self, topic, positions):
        self.member.commit({TopicPartition(topic, p): OffsetAndMetadata(o, "", -1)
                            for p, o in harness.offsets(positions).items()})

    def leave(self):
        self.member.close()


def take(consumer):
    return [harness.record(r.partition, r.offset, r.key, r.value, r.headers, r.timestamp)
            for batch in consumer.poll(500).values() for r in batch]


harness.main(Client)
