/** The groups that read a topic, and how far they are. */

import { html } from "../view.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { count, rate } from "../format/number.js";
import { duration } from "../format/time.js";
import { Badge } from "../parts/badge.js";
import { HostileText } from "../parts/hostile_text.js";
import { Table } from "../parts/table.js";
import { addressOf } from "../routing/route.js";

const columnsOf = (time) => [
  { title: "Group", isMain: true, sortBy: (each) => each.group, of: (each) => html`<a href=${addressOf(["groups", each.group])}><${HostileText} text=${each.group} lengthMax=${80} /></a>` },
  { title: "Lag", isNumber: true, sortBy: (each) => each.lag, of: (each) => count(each.lag) },
  { title: "Oldest", isNumber: true, of: (each) => (each.lag && each.oldestAppendTime ? duration(time - each.oldestAppendTime) : "–") },
  { title: "In flight", isNumber: true, sortBy: (each) => each.inFlight, of: (each) => count(each.inFlight) },
  { title: "Settled", isNumber: true, of: (each) => rate(each.settledPerSecond) },
  { title: "Dead letters", isNumber: true, sortBy: (each) => each.deadLettered, of: (each) => count(each.deadLettered) },
  { title: "", of: (each) => each.paused && html`<${Badge} kind="warn">paused<//>` },
];

/** @param {{topic: string, groups: Map<string, object>, time: number}} props `groups` as the stream of events tells them;
 *  while it tells none, their names are asked for: every group that has begun to read is in the first partition. */
export function TopicReaders({ topic, groups, time }) {
  const { answer } = useAnswer((signal) => get(path`topics/${topic}/partitions/0`, {}, signal), [topic]);
  const rows = [...groups.values()].filter((each) => each.topic === topic);
  if (rows.length === 0 && !answer) return null;
  return html`<section aria-label="Groups">
    <h2 class="section-title">Groups that read it</h2>
    ${rows.length > 0
      ? html`<${Table} caption="Groups that read it" columns=${columnsOf(time)} rows=${rows} keyOf=${(each) => each.group} pageSize=${25} />`
      : html`<${Names} groups=${answer.groups} />`}
  </section>`;
}

function Names({ groups }) {
  if (groups.length === 0) return html`<p class="card quiet">None has begun to. A group is made by its first receive, where the server allows that.</p>`;
  return html`<ul class="card links">
    ${groups.map(({ group }) => html`<li key=${group}><a href=${addressOf(["groups", group])}><${HostileText} text=${group} lengthMax=${80} /></a></li>`)}
  </ul>`;
}
