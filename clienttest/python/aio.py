"""aiokafka."""

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import for_code
from aiokafka.helpers import create_ssl_context

import harness


class Tokens(AbstractTokenProvider):
    async def token(self):
        return harness.LOGIN["token"]


def security():
    """Returns the settings of security."""
    out, login = harness.security(), harness.LOGIN
    if login is not None:
        out["ssl_context"] = create_ssl_context(cafile=login["ca"], certfile=login["pem"] or None, keyfile=login["pem"] or None)
        if login["mechanism"] == "OAUTHBEARER":
            out["sasl_oauth_token_provider"] = Tokens()
    return out


class Client:
    def __init__(self, addr):
        self.config = {"bootstrap_servers": addr, **security()}
        self.lazy_admin = None

    async def admin(self):
        if self.lazy_admin is None:
            self.lazy_admin = AIOKafkaAdminClient(**self.config)
            await self.lazy_admin.start()
        return self.lazy_admin

    async def create(self, topic, partitions):
        admin = await self.admin()
        check((await admin.create_topics([NewTopic(topic, partitions, 1)])).topic_errors)

    async def delete(self, topic):
        check((await (await self.admin()).delete_topics([topic])).topic_error_codes)

    async def produce(self, topic, codec, records):
        producer = AIOKafkaProducer(**self.config, enable_idempotence=True,
                                    compression_type=None if codec == "none" else codec)
        await producer.start()
        try:
            waiting = [await producer.send(topic, value, key, headers=headers, timestamp_ms=time)
                       for key, value, headers, time in harness.sent(records)]
            for one in waiting:
                await one
        finally:
            await producer.stop()

    async def consumer(self, *topics, **config):
        consumer = AIOKafkaConsumer(*topics, **self.config, auto_offset_reset="earliest",
                                    enable_auto_commit=False, fetch_max_wait_ms=200, **config)
        await consumer.start()
        return consumer

    async def read(self, topic, count, **rest):
        consumer, out = await self.consumer(), []
        at = {TopicPartition(topic, p): o for p, o in harness.offsets(rest["from"]).items()}
        consumer.assign(list(at))
        for partition, offset in at.items():
            consumer.seek(partition, offset)
        while len(out) < count:
            out += await take(consumer)
        await consumer.stop()
        return out

    async def at(self, topic, time):
        consumer = await self.consumer()
        found = await consumer.offsets_for_times({TopicPartition(topic, p): time for p in harness.PARTITIONS})
        await consumer.stop()
        return {p.partition: at.offset for p, at in found.items()}

    async def groups(self):
        return [name for name, *_ in await (await self.admin()).list_consumer_groups()]

    async def describe(self, group, topic):
        [response] = await (await self.admin()).describe_consumer_groups([group])
        [(code, _, state, _, _, members, *_)] = response.groups
        check([(group, code)])
        out = []
        for _, _, _, _, assignment, *_ in ((m[0], m[1], m[2], m[-2], m[-1]) for m in members):
            assigned = ConsumerProtocolMemberAssignment.decode(assignment).partitions() if assignment else []
            out.append([p.partition for p in assigned if p.topic == topic])
        return {"state": state, "members": out}

    async def join(self, group, topic):
        self.member = await self.consumer(topic, group_id=group, heartbeat_interval_ms=500)

    async def poll(self):
        records = await take(self.member)
        return {"records": records, "partitions": [p.partition for p in self.member.assignment()]}

    async def commit(self, topic, positions):
        await self.member.commit({TopicPartition(topic, p): o for p, o in harness.offsets(positions).items()})

    async def leave(self):
        await self.member.stop()


def check(errors):
    for name, code, *_ in errors:
        if code:
            raise for_code(code)(name)


async def take(consumer):
    batches = await consumer.getmany(timeout_ms=500)
    return [harness.record(r.partition, r.offset, r.key, r.value, r.headers, r.timestamp)
            for batch in batches.values() for r in batch]


harness.main(Client)
