/** The members of an exclusive group, and what each of them has. */

import { html } from "../view.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { count } from "../format/number.js";
import { duration } from "../format/time.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";

const EVERY_MS = 5_000;

const COLUMNS = [
  { title: "Member", isMain: true, sortBy: (each) => each.member, of: (each) => html`<${HostileText} text=${each.member} lengthMax=${80} />` },
  { title: "Rack", of: (each) => html`<${HostileText} text=${each.rack || "–"} lengthMax=${40} />` },
  { title: "Partitions", isNumber: true, sortBy: (each) => each.assignment.length, of: (each) => count(each.assignment.length) },
  { title: "Silent for", isNumber: true, of: (each) => (each.silentMs === null || each.silentMs === undefined ? "–" : duration(each.silentMs)) },
];

/** @param {{group: string}} props */
export function GroupMembers({ group }) {
  const { answer, problem, again } = useAnswer((signal) => get(path`groups/${group}/members`, {}, signal), [group], { everyMs: EVERY_MS });
  return html`<section aria-label="Members">
    <h2 class="section-title">Members</h2>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${answer?.members.length === 0 && html`<p class="card quiet">It has none now.</p>`}
    ${answer?.members.length > 0 && html`<${Table} caption="Members" columns=${COLUMNS} rows=${answer.members} keyOf=${(each) => each.member} pageSize=${25} />`}
  </section>`;
}
