"""confluent-kafka (librdkafka)."""

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import harness


def security(errors):
    """Returns the settings of security. What librdkafka says by itself is added to errors."""
    login = harness.LOGIN
    if login is None:
        return {}
    out = {"security.protocol": "sasl_ssl" if harness.SASL else "ssl", "ssl.ca.location": login["ca"], "error_cb": errors.append}
    if login["pem"]:
        out.update({"ssl.certificate.location": login["pem"], "ssl.key.location": login["pem"]})
    if harness.SASL:
        out["sasl.mechanism"] = login["mechanism"]
        if login["mechanism"] == "OAUTHBEARER":
            out["oauth_cb"] = lambda _: (login["token"], time.time() + 3600)
        else:
            out.update({"sasl.username": login["user"], "sasl.password": login["password"]})
    return out


class Client:
    def __init__(self, addr):
        self.errors = []
        self.config = {"bootstrap.servers": addr, **security(self.errors)}
        self.admin = AdminClient(self.config)

    def create(self, topic, partitions):
        answer = self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic]
        while not answer.done():
            self.admin.poll(0.1)  # for errors, and for tokens to be asked for
            self.refuse()
        answer.result()

    def refuse(self):
        """Raises the first error that is no mere sign of another: librdkafka itself goes on trying."""
        for error in self.errors:
            # Alerts of TLS 1.3 come as failures of the transport.
            alert = error.code() == KafkaError._TRANSPORT and " alert " in error.str()
            if alert or error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
                raise KafkaException(error)

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result()

    def produce(self, topic, codec, records):
        producer = Producer({**self.config, "enable.idempotence": True, "compression.type": codec})
        failed = []
        for key, value, headers, time in harness.sent(records):
            producer.produce(topic, value, key, headers=headers, timestamp=time,
                             on_delivery=lambda err, _: err and failed.append(err))
        producer.flush()
        if failed:
            raise KafkaException(failed[0])

    def consumer(self, group):
        return Consumer({**self.config, "group.id": group, "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, "heartbeat.interval.ms": 500, "fetch.wait.max.ms": 200})

    def read(self, topic, count, **rest):
        consumer, out = self.consumer("unused"), []
        consumer.assign([TopicPartition(topic, p, o) for p, o in harness.offsets(rest["from"]).items()])
        while len(out) < count:
            out += take(consumer)
        consumer.close()
        return out

    def at(self, topic, time):
        consumer = self.consumer("unused")
        consumer.poll(0)  # which hands over a token
        found = consumer.offsets_for_times([TopicPartition(topic, p, time) for p in harness.PARTITIONS], 10)
        consumer.close()
        return {p.partition: p.offset for p in found}

    def groups(self):
        return [g.group_id for g in self.admin.list_consumer_groups().result().valid]

    def describe(self, group, topic):
        g = self.admin.describe_consumer_groups([group])[group].result()
        members = [[p.partition for p in m.assignment.topic_partitions if p.topic == topic] for m in g.members]
        return {"state": "".join(word.capitalize() for word in g.state.name.split("_")), "members": members}

    def join(self, group, topic):
        self.member = self.consumer(group)
        self.member.subscribe([topic])

    def poll(self):
        records = take(self.member)
        return {"records": records, "partitions": [p.partition for p in self.member.assignment()]}

    def commit(self, topic, positions):
        at = [TopicPartition(topic, p, o) for p, o in harness.offsets(positions).items()]
        for p in self.member.commit(offsets=at, asynchronous=False):
            if p.error:
                raise KafkaException(p.error)

    def leave(self):
        self.member.close()


def take(consumer):
    out = []
    for m in consumer.consume(500, 0.5):
        if m.error():
            raise KafkaException(m.error())
        out.append(harness.record(m.partition(), m.offset(), m.key(), m.value(), m.headers(), m.timestamp()[1]))
    return out


harness.main(Client)
