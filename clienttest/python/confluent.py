"""confluent-kafka (librdkafka)."""

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import harness


class Client:
    def __init__(self, addr):
        self.addr = addr
        self.admin = AdminClient({"bootstrap.servers": addr})

    def create(self, topic, partitions):
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result()

    def produce(self, topic, codec, records):
        producer = Producer({"bootstrap.servers": self.addr, "enable.idempotence": True, "compression.type": codec})
        failed = []
        for key, value, headers, time in harness.sent(records):
            producer.produce(topic, value, key, headers=headers, timestamp=time,
                             on_delivery=lambda err, _: err and failed.append(err))
        producer.flush()
        if failed:
            raise KafkaException(failed[0])

    def consumer(self, group):
        return Consumer({"bootstrap.servers": self.addr, "group.id": group, "auto.offset.reset": "earliest",
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
