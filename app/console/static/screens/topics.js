/** Every topic, with a search. */

import { html, useMemo } from "../view.js";
import { TOPICS_MAX, useTopics } from "../api/topics.js";
import { useRight } from "../api/rights.js";
import { bytes, count, counted, rate } from "../format/number.js";
import { period } from "../format/time.js";
import { useWatch } from "../live/use_watch.js";
import { Badge } from "../parts/badge.js";
import { EmptyState } from "../parts/empty_state.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { SearchField } from "../parts/search_field.js";
import { Table } from "../parts/table.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf, stayAt } from "../routing/route.js";

const columnsOf = (live) => [
  {
    title: "Topic",
    isMain: true,
    sortBy: (topic) => topic.name,
    of: (topic) => html`<a href=${addressOf(["topics", topic.name])}><${HostileText} text=${topic.name} lengthMax=${80} /></a>`,
  },
  { title: "Partitions", isNumber: true, sortBy: (topic) => topic.partitions, of: (topic) => count(topic.partitions) },
  { title: "Replicas", isNumber: true, sortBy: (topic) => topic.replicationFactor, of: (topic) => count(topic.replicationFactor) },
  { title: "Stored", isNumber: true, sortBy: (topic) => live.get(topic.name)?.messagesPerSecond ?? -1, of: (topic) => rate(live.get(topic.name)?.messagesPerSecond) },
  { title: "Size", isNumber: true, sortBy: (topic) => live.get(topic.name)?.bytes ?? -1, of: (topic) => bytes(live.get(topic.name)?.bytes) },
  { title: "Keeps", sortBy: keptMs, of: kept },
  { title: "", of: marks },
];

function TopicsView({ query }) {
  const { topics, isComplete, isWaiting, problem, again } = useTopics();
  const right = useRight("look");
  const live = useWatch({ kinds: "topics" }).watched.topics;
  const columns = useMemo(() => columnsOf(live), [live]);
  const search = query.search ?? "";
  const found = useMemo(() => matching(topics, search), [topics, search]);
  const setSearch = (text) => stayAt(addressOf(["topics"], { search: text }));
  return html`<${ScreenHead} title="Topics"><${SearchField} label="Search topics" value=${search} onInput=${setSearch} /><//>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    <p class="summary" role="status">${summaryOf(found.length, topics.length, search, isWaiting)}</p>
    ${!isComplete && !isWaiting && !problem && html`<p class="hint">The first ${count(TOPICS_MAX)} topics are shown. Open another by its address.</p>`}
    ${found.length > 0 && html`<${Table} key=${search} caption="Topics" columns=${columns} rows=${found} keyOf=${(topic) => topic.id} />`}
    ${isWaiting && topics.length === 0 && html`<${Waiting} />`}
    ${!isWaiting && !problem && found.length === 0 && html`<${NoTopics} search=${search} mayLook=${right.allowed} />`}`;
}

function NoTopics({ search, mayLook }) {
  if (search) return html`<${EmptyState} title="No topic has this in its name">Search for another part of it.<//>`;
  return html`<${EmptyState} title="There are no topics yet">
    <p>A topic is made by the first message that is sent to it, where the server allows that: <a href=${addressOf(["send"])}>send one</a>.</p>
    ${!mayLook && html`<p>Or your token may look at none.</p>`}
  <//>`;
}

/** Every word has to be in the name. */
function matching(topics, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return topics;
  return topics.filter((topic) => words.every((word) => topic.name.toLowerCase().includes(word)));
}

function summaryOf(found, all, search, isWaiting) {
  if (isWaiting) return all ? `${counted(all, "topic")} so far …` : "";
  if (!all) return "";
  return search ? `${count(found)} of ${counted(all, "topic")}` : counted(all, "topic");
}

function kept({ config }) {
  const said = [config.retentionMs < 0 ? "for ever" : period(config.retentionMs)];
  if (config.retentionBytes >= 0) said.push(`${bytes(config.retentionBytes)} a partition`);
  return said.join(", ");
}

function keptMs({ config }) {
  return config.retentionMs < 0 ? Infinity : config.retentionMs;
}

function marks({ config }) {
  return html`<span class="badges">
    ${config.retention === "untilAcked" && html`<${Badge}>until acked<//>`}
    ${config.cleanupPolicy !== "delete" && html`<${Badge}>${config.cleanupPolicy}<//>`}
    ${config.encryption !== "off" && html`<${Badge}>encrypted<//>`}
    ${config.delayMs > 0 && html`<${Badge}>delayed<//>`}
  </span>`;
}

/** @type {import("../routing/matching.js").Screen} */
export const topics = { pattern: "topics", title: "Topics", key: "t", View: TopicsView };
