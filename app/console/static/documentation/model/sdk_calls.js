/** Which calls the Python SDK has under which names, as far as one follows from the other. A test runs each, and compares
 * what it sends with what this page would send. Pure. */

const SETTLED = { nack: { delaySeconds: "delay_s", reason: "reason" }, extend: { visibilitySeconds: "visibility_s" } };

/**
 * @typedef {object} SdkCall
 * @property {string} method of a client
 * @property {string[]} given first, by position; each has to be there
 * @property {Record<string, string>} [named] fields to the names of arguments
 * @property {string} [spread] a field whose members are arguments, in Python's way of writing their names
 */

const topic = (method, more = {}) => ({ method: `topics.${method}`, given: ["topic"], ...more });
const group = (method, more = {}) => ({ method: `groups.${method}`, given: ["group"], ...more });
const PAUSED = { topic: "topic", partitions: "partitions" };

/** By the ids of operations: what comes first and fits is taken. @type {Record<string, SdkCall[]>} */
export const SDK_CALLS = {
  sendMessages: [
    {
      method: "send",
      given: ["queue", "body"],
      named: {
        key: "key",
        headers: "headers",
        tags: "tags",
        timestamp: "timestamp_ms",
        partition: "partition",
        dedupId: "dedup_id",
        delaySeconds: "delay_seconds",
        ttlSeconds: "ttl_seconds",
        acks: "acks",
        "Idempotency-Key": "idempotency_key",
      },
    },
  ],
  receiveMessages: [
    {
      method: "receive",
      given: ["queue"],
      named: {
        group: "group",
        max: "max_messages",
        maxBytes: "max_bytes",
        waitSeconds: "wait_s",
        visibilitySeconds: "visibility_s",
        consumer: "consumer",
        autoAck: "auto_ack",
        mode: "mode",
        filter: "message_filter",
      },
    },
  ],
  acknowledge: [
    { method: "ack", given: ["receipt"] },
    { method: "ack", given: ["receipts"] },
    { method: "ack_message_id", given: ["messageId"], named: { group: "group" } },
  ],
  giveBack: [
    { method: "nack", given: ["receipt"], named: SETTLED.nack },
    { method: "nack", given: ["receipts"], named: SETTLED.nack },
  ],
  extend: [
    { method: "extend", given: ["receipt"], named: SETTLED.extend },
    { method: "extend", given: ["receipts"], named: SETTLED.extend },
  ],
  lookAtMessage: [{ method: "look", given: ["messageId"] }],
  readRecords: [
    {
      method: "records",
      given: ["topic", "partition"],
      named: { offset: "offset", epoch: "epoch", time: "time_ms", maxBytes: "max_bytes", waitSeconds: "wait_s", filter: "message_filter" },
    },
  ],
  latestOfKey: [{ method: "tables.get", given: ["topic", "key"] }],
  putTopic: [topic("create", { named: { partitions: "partitions", replicationFactor: "replication_factor" }, spread: "config" })],
  describeTopic: [topic("get")],
  deleteTopic: [topic("delete")],
  describePartition: [{ method: "topics.partition", given: ["topic", "partition"] }],
  purgeTopic: [topic("purge", { named: { partitions: "partitions", dryRun: "dry_run" } })],
  putGroup: [group("create", { named: { mode: "mode" }, spread: "settings" })],
  describeGroup: [group("get")],
  deleteGroup: [group("delete")],
  pauseGroup: [group("pause", { named: PAUSED })],
  resumeGroup: [group("resume", { named: PAUSED })],
  groupOffsets: [group("offsets", { named: { topic: "topic" } })],
  lookAtScheduled: [{ method: "scheduled.get", given: ["topic", "scheduleId"] }],
  cancelScheduled: [{ method: "scheduled.cancel", given: ["topic", "scheduleId"] }],
  describeSchedule: [{ method: "schedules.get", given: ["topic", "schedule"] }],
  deleteSchedule: [{ method: "schedules.delete", given: ["topic", "schedule"] }],
  lookAtRedrive: [{ method: "redrives.get", given: ["group", "jobId"] }],
  cancelRedrive: [{ method: "redrives.cancel", given: ["group", "jobId"] }],
  describeNamespace: [{ method: "namespaces.get", given: ["namespace"] }],
  deleteNamespace: [{ method: "namespaces.delete", given: ["namespace"] }],
  isAlive: [{ method: "health", given: [] }],
  isReady: [{ method: "ready", given: [] }],
  metrics: [{ method: "metrics", given: [] }],
};

/** `retentionMs` is `retention_ms`. @param {string} name */
export function pythonName(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
