/** All groups, and how far behind they are. */

import { html, useMemo } from "../view.js";
import { GROUPS_ASKED_MAX, askSums } from "../api/group_sums.js";
import { GROUPS_MAX, readGroups } from "../api/groups.js";
import { useAnswer } from "../api/use_answer.js";
import { count, counted } from "../format/number.js";
import { duration } from "../format/time.js";
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

const EVERY_MS = 10_000;

/** @param {Map<string, object>} sums what the stream of events says of each group, its topics together; while it says
 *  nothing of one, that is not known */
const columnsOf = (sums) => [
  { title: "Group", isMain: true, sortBy: (each) => each.name, of: (each) => html`<a href=${addressOf(["groups", each.name])}><${HostileText} text=${each.name} lengthMax=${80} /></a>` },
  { title: "Mode", sortBy: (each) => each.mode, of: (each) => each.mode },
  { title: "Lag", isNumber: true, sortBy: (each) => sums.get(each.name)?.lag ?? -1, of: (each) => count(sums.get(each.name)?.lag) },
  { title: "Oldest", isNumber: true, sortBy: (each) => sums.get(each.name)?.oldestMs ?? -1, of: (each) => oldest(sums.get(each.name)) },
  { title: "In flight", isNumber: true, sortBy: (each) => sums.get(each.name)?.inFlight ?? -1, of: (each) => count(sums.get(each.name)?.inFlight) },
  { title: "Dead letters", isNumber: true, sortBy: (each) => sums.get(each.name)?.deadLettered ?? -1, of: (each) => count(sums.get(each.name)?.deadLettered) },
  { title: "", of: (each) => each.paused.length > 0 && html`<${Badge} kind="warn">paused<//>` },
];

function GroupsView({ query }) {
  const { answer, problem, isWaiting, again } = useAnswer(readGroups, ["groups"], { everyMs: EVERY_MS });
  const { watched, source } = useWatch({ kinds: "groups" });
  const search = query.search ?? "";
  const all = answer?.groups ?? [];
  const found = useMemo(() => all.filter((each) => each.name.toLowerCase().includes(search.trim().toLowerCase())), [answer, search]);
  const names = source === "refused" ? found.slice(0, GROUPS_ASKED_MAX).map((each) => each.name) : [];
  const asked = useAnswer((signal) => askSums(names, signal), ["sums", ...names], { everyMs: EVERY_MS }).answer;
  const columns = useMemo(() => columnsOf(source === "refused" ? (asked ?? new Map()) : sumsOf(watched)), [watched, source, asked]);
  const setSearch = (text) => stayAt(addressOf(["groups"], { search: text }));
  return html`<${ScreenHead} title="Groups"><${SearchField} label="Search groups" value=${search} onInput=${setSearch} /><//>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    <p class="summary" role="status">${all.length > 0 && (search ? `${count(found.length)} of ${counted(all.length, "group")}` : counted(all.length, "group"))}</p>
    ${answer && !answer.isComplete && html`<p class="hint">The first ${count(GROUPS_MAX)} groups are shown. Open another by its address.</p>`}
    ${source === "refused" && found.length > 0 && html`<p class="hint">${askedText(found.length)}</p>`}
    ${found.length > 0 && html`<${Table} key=${search} caption="Groups" columns=${columns} rows=${found} keyOf=${(each) => each.id} />`}
    ${isWaiting && !answer && html`<${Waiting} />`}
    ${answer && found.length === 0 && html`<${NoGroups} search=${search} />`}`;
}

function NoGroups({ search }) {
  if (search) return html`<${EmptyState} title="No group has this in its name">Search for another part of it.<//>`;
  return html`<${EmptyState} title="There are no groups yet">A group is made by its first receive, where the server allows that. Or your token may look at none.<//>`;
}

function sumsOf({ groups, time }) {
  const sums = new Map();
  for (const each of groups.values()) {
    const sum = sums.get(each.group) ?? { lag: 0, inFlight: 0, deadLettered: 0, oldestMs: 0 };
    sum.lag += each.lag;
    sum.inFlight += each.inFlight;
    sum.deadLettered += each.deadLettered;
    if (each.lag && each.oldestAppendTime) sum.oldestMs = Math.max(sum.oldestMs, time - each.oldestAppendTime);
    sums.set(each.group, sum);
  }
  return sums;
}

function askedText(found) {
  const rest = found > GROUPS_ASKED_MAX ? ` Those are the first ${count(GROUPS_ASKED_MAX)}: search for others.` : "";
  return `There is no stream for this page: every ${EVERY_MS / 1_000} s each group is asked how far it is.${rest}`;
}

function oldest(sum) {
  return sum?.oldestMs ? duration(sum.oldestMs) : "–";
}

/** @type {import("../routing/matching.js").Screen} */
export const groups = { pattern: "groups", title: "Groups", key: "g", View: GroupsView };
