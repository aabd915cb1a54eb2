/** The cluster: its nodes by rack, what moves between them, and which partitions are in trouble. */

import { html } from "../view.js";
import { useRight } from "../api/rights.js";
import { get } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { nodesText, racksOf, troubleOf } from "../format/cluster.js";
import { count } from "../format/number.js";
import { Badge } from "../parts/badge.js";
import { EmptyState } from "../parts/empty_state.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Table } from "../parts/table.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf } from "../routing/route.js";
import { ClusterNode } from "./cluster_node.js";

const EVERY_MS = 3_000;
const LISTED_MAX = 1_000;

const MOVES = [
  { title: "Partition", isMain: true, sortBy: (each) => each.topic, of: place },
  { title: "From nodes", of: (each) => nodesText(each.from) },
  { title: "To nodes", of: (each) => nodesText(each.to) },
  { title: "Waits for", of: (each) => nodesText(each.waitingFor) },
];

const TROUBLED = [
  { title: "Partition", isMain: true, sortBy: (each) => each.topic, of: place },
  { title: "Trouble", sortBy: (each) => each.trouble, of: trouble },
  { title: "Leader", of: (each) => (each.leader === null ? "none" : `node ${each.leader}`) },
  { title: "In sync", of: (each) => `${nodesText(each.inSyncReplicas)} of ${nodesText(each.replicas)}` },
];

function ClusterView() {
  const { answer, problem, again } = useAnswer((signal) => get("cluster", { limit: LISTED_MAX }, signal), ["cluster"], { everyMs: EVERY_MS });
  return html`<${ScreenHead} title="Cluster" />
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${!answer && !problem && html`<${Waiting} />`}
    ${answer?.embedded && html`<${OneNode} />`}
    ${answer && !answer.embedded && html`<${Whole} cluster=${answer} onDone=${again} />`}`;
}

function OneNode() {
  return html`<${EmptyState} title="This server is one node by itself">
    <p>It leads all of its partitions, and there is nowhere to move them.</p>
    <p>A cluster is made of <code>acklog node</code> and <code>acklog gateway</code>.</p>
  <//>`;
}

function Whole({ cluster, onDone }) {
  return html`<${Figures} cluster=${cluster} />
    <${Rests} cluster=${cluster} />
    <div class="cards">
      <${Nodes} cluster=${cluster} onDone=${onDone} />
      <${Listed} title="Partitions in trouble" columns=${TROUBLED} rows=${cluster.troubled} />
      <${Listed} title="Moves under way" columns=${MOVES} rows=${cluster.moves} />
      ${!cluster.complete && html`<p class="hint">The first ${count(LISTED_MAX)} of each are shown.</p>`}
    </div>`;
}

function Figures({ cluster }) {
  const live = cluster.nodes.filter((each) => each.live).length;
  const warn = (value, kind) => (value ? kind : "");
  return html`<dl class="figures">
    <div><dt>Nodes that live</dt><dd class=${warn(live < cluster.nodes.length, "warn")}>${count(live)} of ${count(cluster.nodes.length)}</dd></div>
    <div><dt>Controller</dt><dd class=${warn(cluster.controller === null, "bad")}>${cluster.controller === null ? "none" : `node ${cluster.controller}`}</dd></div>
    <div><dt>Partitions</dt><dd>${count(cluster.partitions)}</dd></div>
    <div><dt>Without leader</dt><dd class=${warn(cluster.withoutLeader, "bad")}>${count(cluster.withoutLeader)}</dd></div>
    <div><dt>Too few in sync</dt><dd class=${warn(cluster.belowMinInsync, "bad")}>${count(cluster.belowMinInsync)}</dd></div>
    <div><dt>Under-replicated</dt><dd class=${warn(cluster.underReplicated, "warn")}>${count(cluster.underReplicated)}</dd></div>
    <div><dt>Moving</dt><dd>${count(cluster.moving)}</dd></div>
    <div><dt>Moves that wait</dt><dd>${count(cluster.ordersWaiting)}</dd></div>
  </dl>`;
}

/** What does not happen now, though it would. */
function Rests({ cluster }) {
  return html`${!cluster.storeReachable &&
    html`<div class="notice warn" role="status"><div class="notice-text"><strong>The coordination store is away</strong><p>Messages go on as long as nothing changes. All of this is as it was last known.</p></div></div>`}
    ${!cluster.automaticMoves &&
    html`<div class="notice warn" role="status"><div class="notice-text"><strong>Automatic moves are paused</strong><p>Repair and balance rest until <code>acklog cluster resume</code>. Drains go on.</p></div></div>`}`;
}

function Nodes({ cluster, onDone }) {
  const right = useRight("manage");
  return html`${racksOf(cluster.nodes).map(
    ({ rack, nodes }) => html`<section key=${rack} aria-label=${rack ? `Rack ${rack}` : "Nodes"}>
      <h2 class="section-title">${rack ? html`Rack <${HostileText} text=${rack} lengthMax=${60} />` : "Nodes without a rack"}</h2>
      <ul class="nodes">
        ${nodes.map((node) => html`<${ClusterNode} key=${node.node} isController=${node.node === cluster.controller} ...${{ node, right, onDone }} />`)}
      </ul>
    </section>`,
  )}`;
}

function Listed({ title, columns, rows }) {
  return html`<section aria-label=${title}>
    <h2 class="section-title">${title}</h2>
    ${rows.length === 0 && html`<p class="card quiet">There are none.</p>`}
    ${rows.length > 0 && html`<${Table} caption=${title} columns=${columns} rows=${rows} keyOf=${(each) => `${each.topic} ${each.partition}`} pageSize=${25} />`}
  </section>`;
}

function place(each) {
  return html`<a href=${addressOf(["topics", each.topic])}><${HostileText} text=${each.topic} lengthMax=${80} /></a> ${each.partition}`;
}

function trouble(each) {
  const [words, kind] = troubleOf(each.trouble);
  return html`<${Badge} kind=${kind}>${words}<//>`;
}

/** @type {import("../routing/matching.js").Screen} */
export const cluster = { pattern: "cluster", title: "Cluster", key: "c", View: ClusterView };
