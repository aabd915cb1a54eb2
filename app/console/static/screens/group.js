/** One group: how far it is in each partition, its members, its settings; it is paused here, and moved. */

import { html } from "../view.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { settingText } from "../format/setting.js";
import { count } from "../format/number.js";
import { duration, time } from "../format/time.js";
import { Badge } from "../parts/badge.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Table } from "../parts/table.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf } from "../routing/route.js";
import { GroupBlocked } from "./group_blocked.js";
import { GroupMembers } from "./group_members.js";
import { GroupPause } from "./group_pause.js";
import { GroupSeek } from "./group_seek.js";
import { SettingChange } from "./setting_change.js";

const EVERY_MS = 3_000;

const PLACES = [
  { title: "Partition", isMain: true, sortBy: (each) => each.topic, of: (each) => html`<a href=${addressOf(["topics", each.topic])}><${HostileText} text=${each.topic} lengthMax=${80} /></a> ${each.partition}` },
  { title: "Progress", isNumber: true, of: (each) => `${count(each.progress)} of ${count(each.highWatermark)}` },
  { title: "Lag", isNumber: true, sortBy: (each) => each.lag ?? -1, of: (each) => count(each.lag) },
  { title: "Behind", isNumber: true, sortBy: (each) => each.lagMs ?? -1, of: (each) => age(each.lagMs) },
  { title: "Oldest", isNumber: true, sortBy: (each) => each.oldestAgeMs ?? -1, of: (each) => age(each.oldestAgeMs) },
  { title: "Leased", isNumber: true, sortBy: (each) => each.inFlight ?? -1, of: (each) => count(each.inFlight) },
  { title: "Delayed", isNumber: true, sortBy: (each) => each.delayed ?? -1, of: (each) => count(each.delayed) },
  { title: "Blocked", isNumber: true, sortBy: (each) => each.blocked ?? -1, of: (each) => count(each.blocked) },
  { title: "Dead letters", isNumber: true, sortBy: (each) => each.deadLettered ?? -1, of: (each) => count(each.deadLettered) },
  { title: "", of: marks },
];

function GroupView({ names }) {
  const name = names.group;
  const group = useAnswer((signal) => get(path`groups/${name}`, {}, signal), [name, "group"], { everyMs: EVERY_MS });
  const places = useAnswer((signal) => get(path`groups/${name}/offsets`, {}, signal), [name, "places"], { everyMs: EVERY_MS });
  const again = () => [group, places].forEach((each) => each.again());
  return html`<${ScreenHead} title=${name} trail=${[{ text: "Groups", href: addressOf(["groups"]) }]}>
      <a class="button plain" href=${addressOf(["groups", name, "letters"])}>Dead letters</a>
      ${group.answer && html`<${GroupPause} group=${group.answer} onDone=${again} />`}
      ${places.answer && html`<${GroupSeek} group=${name} places=${places.answer.offsets} onDone=${again} />`}
    <//>
    <${ProblemNotice} problem=${group.problem ?? places.problem} onAgain=${again} />
    ${!group.answer && !group.problem && html`<${Waiting} />`}
    ${places.answer && html`<${Figures} all=${places.answer} />`}
    <div class="cards">
      ${places.answer && html`<${Places} places=${places.answer.offsets} />`}
      ${group.answer && mayBlock(group.answer, places.answer) && html`<${GroupBlocked} group=${name} onDone=${again} />`}
      ${group.answer?.mode === "exclusive" && html`<${GroupMembers} group=${name} />`}
      ${group.answer && html`<${Settings} group=${group.answer} onDone=${again} />`}
    </div>`;
}

function Figures({ all }) {
  const sum = (name) => all.offsets.reduce((total, each) => total + (each[name] ?? 0), 0);
  return html`<dl class="figures">
    <div><dt>Lag</dt><dd>${count(all.lag)}</dd></div>
    <div><dt>Behind</dt><dd>${age(all.lagMs)}</dd></div>
    <div><dt>Oldest</dt><dd>${age(all.oldestAgeMs)}</dd></div>
    <div><dt>Leased</dt><dd>${count(sum("inFlight"))}</dd></div>
    <div><dt>Blocked</dt><dd class=${sum("blocked") ? "warn" : ""}>${count(sum("blocked"))}</dd></div>
    <div><dt>Dead letters</dt><dd class=${sum("deadLettered") ? "warn" : ""}>${count(sum("deadLettered"))}</dd></div>
  </dl>`;
}

function Places({ places }) {
  if (places.length === 0) return html`<p class="card quiet">It has not begun to read a topic yet.</p>`;
  return html`<section aria-label="Positions">
    <h2 class="section-title">Positions</h2>
    <${Table} caption="Positions" columns=${PLACES} rows=${places} keyOf=${(each) => `${each.topic} ${each.partition}`} pageSize=${25} />
  </section>`;
}

function Settings({ group, onDone }) {
  return html`<section class="card" aria-label="Settings">
    <div class="card-head"><h2>Settings</h2><${SettingChange} on=${{ group: group.name }} where=${path`groups/${group.name}`} member="settings" settings=${group.settings} onDone=${onDone} /></div>
    <dl class="facts">
      <div><dt>mode</dt><dd>${group.mode}</dd></div>
      ${Object.entries(group.settings).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><${HostileText} text=${settingText(name, value)} /></dd></div>`)}
      <div><dt>id</dt><dd class="mono">${group.id}</dd></div>
      <div><dt>created</dt><dd>${time(group.createdAt)}</dd></div>
    </dl>
  </section>`;
}

function marks(each) {
  return html`<span class="badges">
    ${each.paused && html`<${Badge} kind="warn">paused<//>`}
    ${each.problem && html`<${Badge} kind="bad" title=${each.problem.detail}>${each.problem.code}<//>`}
  </span>`;
}

/** What was blocked before its setting changed stays so. */
function mayBlock({ settings }, places) {
  return settings.onExhausted === "block" || (places?.offsets.some((each) => each.blocked > 0) ?? false);
}

function age(ms) {
  return ms ? duration(ms) : "–";
}

/** @type {import("../routing/matching.js").Screen} */
export const group = { pattern: "groups/:group", title: "Group", View: GroupView };
