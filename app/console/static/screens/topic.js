/** One topic: its partitions, who reads it, what is scheduled, and its settings. */

import { html } from "../view.js";
import { useRight } from "../api/rights.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { bytes, count, rate } from "../format/number.js";
import { time } from "../format/time.js";
import { settingText } from "../format/setting.js";
import { useWatch } from "../live/use_watch.js";
import { Badge } from "../parts/badge.js";
import { LinkButton } from "../parts/link_button.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Table } from "../parts/table.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf } from "../routing/route.js";
import { SettingChange } from "./setting_change.js";
import { TopicReaders } from "./topic_readers.js";
import { TopicSchedules } from "./topic_schedules.js";

const EVERY_MS = 5_000;

const PARTITIONS = [
  { title: "Partition", isMain: true, sortBy: (each) => each.partition, of: (each) => `Partition ${each.partition}` },
  { title: "Leader", sortBy: (each) => each.leader ?? -1, of: (each) => (each.leader === null ? html`<${Badge} kind="bad">none<//>` : `node ${each.leader}`) },
  { title: "In sync", of: inSync },
  { title: "Messages", isNumber: true, sortBy: lengthOf, of: (each) => count(lengthOf(each)) },
  { title: "Offsets", isNumber: true, of: (each) => `${count(each.logStart)} – ${count(each.highWatermark)}` },
  { title: "Size", isNumber: true, sortBy: (each) => each.sizeBytes ?? 0, of: (each) => bytes(each.sizeBytes) },
  { title: "", of: troubles },
];

function TopicView({ names }) {
  const name = names.topic;
  const { answer, problem, again } = useAnswer((signal) => get(path`topics/${name}`, {}, signal), [name], { everyMs: EVERY_MS });
  const { watched } = useWatch({ kinds: "topics,groups", topics: name });
  const [receive, send] = [useRight("receive", { topic: name }), useRight("send", { topic: name })];
  return html`<${ScreenHead} title=${name} trail=${[{ text: "Topics", href: addressOf(["topics"]) }]}>
      <${LinkButton} right=${receive} href=${addressOf(["topics", name, "messages"])}>Messages<//>
      <${LinkButton} right=${receive} href=${addressOf(["tail"], { topic: name })}>Follow live<//>
      <${LinkButton} right=${send} href=${addressOf(["send"], { topic: name })}>Send<//>
    <//>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${!answer && !problem && html`<${Waiting} />`}
    ${answer && html`<${Facts} topic=${answer} live=${watched.topics.get(name)} /><div class="cards"><${TopicReaders} topic=${name} groups=${watched.groups} time=${watched.time} /><${Partitions} topic=${answer} /><${TopicSchedules} topic=${name} /><${Settings} topic=${answer} onDone=${again} /></div>`}`;
}

function Facts({ topic, live }) {
  const states = topic.partitionStates;
  const messages = states.reduce((sum, each) => sum + lengthOf(each), 0);
  const size = states.reduce((sum, each) => sum + (each.sizeBytes ?? 0), 0);
  const short = states.filter((each) => each.inSyncReplicas.length < each.replicas.length).length;
  return html`<dl class="figures">
    <div><dt>Messages kept</dt><dd>${count(messages)}</dd></div>
    <div><dt>Stored</dt><dd>${rate(live?.messagesPerSecond)}</dd></div>
    <div><dt>Size</dt><dd>${bytes(size)}</dd></div>
    <div><dt>Partitions</dt><dd>${count(topic.partitions)}</dd></div>
    <div><dt>Replicas</dt><dd>${count(topic.replicationFactor)}</dd></div>
    <div><dt>Under-replicated</dt><dd class=${short ? "warn" : ""}>${count(short)}</dd></div>
  </dl>`;
}

function Partitions({ topic }) {
  return html`<section aria-label="Partitions">
    <h2 class="section-title">Partitions</h2>
    <${Table} caption=${`Partitions of ${topic.name}`} columns=${PARTITIONS} rows=${topic.partitionStates} keyOf=${(each) => each.partition} pageSize=${25} />
  </section>`;
}

function Settings({ topic, onDone }) {
  return html`<section class="card" aria-label="Settings">
    <div class="card-head"><h2>Settings</h2><${SettingChange} on=${{ topic: topic.name }} where=${path`topics/${topic.name}`} member="config" settings=${topic.config} onDone=${onDone} /></div>
    <dl class="facts">
      ${Object.entries(topic.config).map(([name, value]) => html`<div><dt>${name}</dt><dd><${HostileText} text=${settingText(name, value)} /></dd></div>`)}
      <div><dt>id</dt><dd class="mono">${topic.id}</dd></div>
      <div><dt>created</dt><dd>${time(topic.createdAt)}</dd></div>
    </dl>
  </section>`;
}

function inSync({ replicas, inSyncReplicas }) {
  const missing = replicas.filter((each) => !inSyncReplicas.includes(each));
  return html`<span>${inSyncReplicas.join(", ") || "none"} ${missing.length > 0 && html`<${Badge} kind="warn">without ${missing.join(", ")}<//>`}</span>`;
}

function troubles(each) {
  return html`<span class="badges">
    ${each.problem && html`<${Badge} kind="bad" title=${each.problem.detail}>${each.problem.code}<//>`}
    ${each.movingTo && html`<${Badge} kind="warn">moving to ${each.movingTo.join(", ")}<//>`}
    ${each.life !== "active" && html`<${Badge} kind="warn">${each.life}<//>`}
    ${each.uncleanElection && html`<${Badge} kind="bad" title="A leader was elected that lacked messages.">unclean election<//>`}
  </span>`;
}

function lengthOf({ logStart, highWatermark }) {
  return Math.max(0, (highWatermark ?? 0) - (logStart ?? 0));
}

/** @type {import("../routing/matching.js").Screen} */
export const topic = { pattern: "topics/:topic", title: "Topic", View: TopicView };
