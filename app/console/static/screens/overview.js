/** How all is, and what goes on. */

import { html, useEffect, useRef, useState } from "../view.js";
import { count, counted, rate, shortCount } from "../format/number.js";
import { duration } from "../format/time.js";
import { emptyHistory, withPoint } from "../live/rate_history.js";
import { useWatch } from "../live/use_watch.js";
import { Badge } from "../parts/badge.js";
import { EmptyState } from "../parts/empty_state.js";
import { HostileText } from "../parts/hostile_text.js";
import { Plot } from "../parts/plot.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Table } from "../parts/table.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf } from "../routing/route.js";

const SHOWN = 8;
const POINT_MS = 1_000;
const LINES = [
  { title: "Stored", colour: "plot-one" },
  { title: "Settled", colour: "plot-two" },
  { title: "Delivered by this gateway", colour: "plot-three" },
];
const TROUBLES = {
  withoutLeader: ["no leader", "bad"],
  belowMinInsync: ["below min. in sync", "bad"],
  underReplicated: ["under-replicated", "warn"],
};

function OverviewView() {
  const { watched, problem, source } = useWatch({ kinds: "totals,topics,groups,nodes,partitions" });
  const history = useHistory(watched);
  const troubled = [...watched.partitions.values()].filter((each) => each.trouble);
  return html`<${ScreenHead} title="Overview">
      ${source === "polling" ? html`<${Badge} kind="warn" title="The stream of events is refused: the console asks every two seconds.">asked every 2 s<//>` : watched.isWhole && html`<${Badge} kind=${problem ? "warn" : "good"}>${problem ? "connecting …" : "live"}<//>`}
    <//>
    <${ProblemNotice} problem=${problem} />
    ${!watched.isWhole && !problem && html`<${Waiting} />`}
    ${watched.isWhole &&
    html`<${Figures} watched=${watched} />
      <div class="cards">
        ${troubled.length > 0 && html`<${Troubled} partitions=${troubled} />`}
        <section class="card" aria-label="Messages a second">
          <h2>Messages a second</h2>
          <${Plot} label="Messages a second" lines=${LINES} data=${history} show=${rate} />
        </section>
        <div class="halves"><${Busiest} topics=${watched.topics} /><${Behind} groups=${watched.groups} time=${watched.time} /></div>
      </div>`}`;
}

function Figures({ watched }) {
  const { totals, nodes } = watched;
  const live = [...nodes.values()].filter((each) => each.live).length;
  const inTrouble = totals && totals.withoutLeader + totals.belowMinInsync;
  return html`<dl class="figures">
    <div><dt>Topics</dt><dd><a href=${addressOf(["topics"])}>${count(totals?.topics ?? (watched.topics.size || null))}</a></dd></div>
    <div><dt>Groups</dt><dd><a href=${addressOf(["groups"])}>${count(totals?.groups)}</a></dd></div>
    <div><dt>Not done yet</dt><dd title=${count(totals?.lag)}>${shortCount(totals?.lag)}</dd></div>
    <div><dt>Nodes</dt><dd class=${live < nodes.size ? "bad" : ""}><a href=${addressOf(["cluster"])}>${nodes.size ? (live === nodes.size ? count(live) : `${live} of ${nodes.size}`) : "–"}</a></dd></div>
    <div><dt>Partitions</dt><dd>${count(totals?.partitions)}</dd></div>
    <div><dt>Not writable</dt><dd class=${inTrouble ? "bad" : ""}>${count(inTrouble)}</dd></div>
    <div><dt>Under-replicated</dt><dd class=${totals?.underReplicated ? "warn" : ""}>${count(totals?.underReplicated)}</dd></div>
  </dl>`;
}

function Troubled({ partitions }) {
  const shown = partitions.slice(0, SHOWN);
  return html`<section class="notice warn" role="status">
    <div class="notice-text">
      <strong>${counted(partitions.length, "partition")} in trouble</strong>
      <ul class="links">${shown.map(({ topic, partition, trouble }) => html`<li><a href=${addressOf(["topics", topic])}><${HostileText} text=${topic} lengthMax=${60} /> ${partition}</a> <${Badge} kind=${TROUBLES[trouble][1]}>${TROUBLES[trouble][0]}<//></li>`)}</ul>
      ${partitions.length > shown.length && html`<p>… and ${count(partitions.length - shown.length)} more</p>`}
    </div>
  </section>`;
}

const TOPICS = [
  { title: "Topic", isMain: true, of: (topic) => html`<a href=${addressOf(["topics", topic.name])}><${HostileText} text=${topic.name} lengthMax=${48} /></a>` },
  { title: "Stored", isNumber: true, of: (topic) => rate(topic.messagesPerSecond) },
];

function Busiest({ topics }) {
  const rows = [...topics.values()].sort((one, other) => (other.messagesPerSecond ?? 0) - (one.messagesPerSecond ?? 0)).slice(0, SHOWN);
  return html`<section aria-label="Busiest topics">
    <h2 class="section-title">Busiest topics</h2>
    ${rows.length > 0 ? html`<${Table} caption="Busiest topics" columns=${TOPICS} rows=${rows} keyOf=${(each) => each.id} />` : html`<${EmptyState} title="No topics yet"><a href=${addressOf(["send"])}>Send a first message</a><//>`}
  </section>`;
}

function Behind({ groups, time }) {
  const age = (each) => (each.oldestAppendTime === null ? 0 : time - each.oldestAppendTime);
  const columns = [
    { title: "Group", isMain: true, of: (each) => html`<a href=${addressOf(["groups", each.group])}><${HostileText} text=${each.group} lengthMax=${40} /></a> <span class="quiet">in <${HostileText} text=${each.topic} lengthMax=${40} /></span>` },
    { title: "Lag", isNumber: true, of: (each) => count(each.lag) },
    { title: "Oldest", isNumber: true, of: (each) => (each.lag && age(each) ? duration(age(each)) : "–") },
  ];
  const rows = [...groups.values()].sort((one, other) => other.lag - one.lag).slice(0, SHOWN);
  return html`<section aria-label="Groups furthest behind">
    <h2 class="section-title">Groups furthest behind</h2>
    ${rows.length > 0 ? html`<${Table} caption="Groups furthest behind" columns=${columns} rows=${rows} keyOf=${(each) => `${each.group} ${each.topic}`} />` : html`<${EmptyState} title="No group reads anything yet">A group shows here once it has received.<//>`}
  </section>`;
}

/** A point a second: what stands still is told once, and stays true. */
function useHistory(watched) {
  const [history, setHistory] = useState(() => emptyHistory(LINES.length));
  const latest = useRef(watched);
  latest.current = watched;
  useEffect(() => {
    const timer = setInterval(() => {
      const { totals, topics, isWhole } = latest.current;
      if (!isWhole) return;
      const stored = totals ? (totals.messagesPerSecond ?? totals.gateway?.sentPerSecond ?? null) : summed(topics);
      const settled = totals?.settledPerSecond ?? totals?.gateway?.settledPerSecond ?? null;
      const point = [stored, settled, totals?.gateway?.deliveredPerSecond ?? null];
      setHistory((last) => withPoint(last, Date.now(), point));
    }, POINT_MS);
    return () => clearInterval(timer);
  }, []);
  return history;
}

/** Of the topics that the token may look at. */
function summed(topics) {
  return [...topics.values()].reduce((sum, each) => sum + (each.messagesPerSecond ?? 0), 0);
}

/** @type {import("../routing/matching.js").Screen} */
export const overview = { pattern: "", title: "Overview", key: "o", View: OverviewView };
