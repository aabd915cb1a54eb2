/** What is blocked in a group until a person decides: released, it goes out again; skipped, it is done. */

import { html, useState } from "../view.js";
import { useRight } from "../api/rights.js";
import { change, get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { useChange } from "../api/use_change.js";
import { blockedBody } from "../format/blocked.js";
import { count, counted } from "../format/number.js";
import { ago } from "../format/time.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";
import { say } from "../parts/toasts.js";
import { addressOf } from "../routing/route.js";

const EVERY_MS = 5_000;
const LISTED_MAX = 1_000;

const DECISIONS = {
  release: { title: "Release", does: "It goes out again at once, and its attempts begin anew.", done: "released" },
  skip: { title: "Skip", does: "It counts as done though nobody handled it, and what is behind it goes on. No dead letter of it is kept.", done: "skipped" },
};

/** @param {{group: string, onDone: () => void}} props */
export function GroupBlocked({ group, onDone }) {
  const right = useRight("seek", { group });
  const { answer, problem, again } = useAnswer((signal) => get(path`groups/${group}/keys`, { limit: LISTED_MAX }, signal), [group, "keys"], { everyMs: EVERY_MS });
  const [asked, setAsked] = useState(null);
  const decided = () => [again, onDone].forEach((each) => each());
  return html`<section aria-label="Blocked">
    <h2 class="section-title">Blocked</h2>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${answer?.unknown.length > 0 && html`<p class="hint">${counted(answer.unknown.length, "partition")} could not be asked now.</p>`}
    ${answer?.count === 0 && html`<p class="card quiet">Nothing waits for a decision.</p>`}
    ${answer?.keys.length > 0 && html`<${Table} caption="Blocked messages" columns=${columnsOf(right, setAsked)} rows=${answer.keys} keyOf=${(each) => `${each.topic} ${each.partition} ${each.offset}`} pageSize=${25} />`}
    ${answer && answer.count > answer.keys.length && html`<p class="hint">The first ${count(answer.keys.length)} of ${count(answer.count)} are shown.</p>`}
    ${asked && html`<${DecisionDialog} ...${{ group, right, ...asked }} onDone=${decided} onClose=${() => setAsked(null)} />`}
  </section>`;
}

const columnsOf = (right, setAsked) => [
  { title: "Message", isMain: true, of: (each) => placeOf(each) },
  { title: "Key", of: (each) => keyOf(each) },
  { title: "Attempts", isNumber: true, sortBy: (each) => each.attempts, of: (each) => count(each.attempts) },
  { title: "Blocked", sortBy: (each) => each.since, of: (each) => ago(each.since) },
  { title: "", of: (each) => decisionsOf(each, right, setAsked) },
];

function decisionsOf(message, right, setAsked) {
  return html`<span class="row-actions">${Object.entries(DECISIONS).map(
    ([decision, { title }]) => html`<${Button} key=${decision} kind="quiet" right=${right} label=${`${title} ${message.topic} ${message.partition} offset ${message.offset} …`} onClick=${() => setAsked({ decision, message })}>${title} …<//>`,
  )}</span>`;
}

function DecisionDialog({ group, right, decision, message, onDone, onClose }) {
  const topicRight = useRight("seek", { topic: message.topic });
  const [isForKey, setIsForKey] = useState(false);
  const { problem, why, run } = useChange();
  const { title, does, done } = DECISIONS[decision];
  const decide = () =>
    run(async () => {
      const answer = await change("POST", decision === "skip" ? path`groups/${group}/keys/skip` : path`groups/${group}/keys/release`, blockedBody(message, isForKey));
      say(`${counted(answer.keys.length, "message")} ${answer.keys.length === 1 ? "is" : "are"} ${done}.`);
      onDone();
      onClose();
    });
  return html`<${Dialog} title=${`${title} what is blocked`} onClose=${onClose}>
    <p>${placeOf(message)}, key ${keyOf(message)}</p>
    <p>${does}</p>
    ${message.key !== null && html`<label class="choice"><input type="checkbox" checked=${isForKey} onChange=${(event) => setIsForKey(event.target.checked)} /> All that is blocked of this key in this topic</label>`}
    <${ProblemNotice} problem=${problem} />
    <div class="dialog-end">
      <${Button} kind="quiet" onClick=${onClose}>Cancel<//>
      <${Button} kind=${decision === "skip" ? "danger" : "main"} right=${right.allowed ? topicRight : right} why=${why} onClick=${decide}>${title}<//>
    </div>
  <//>`;
}

function placeOf({ topic, partition, offset, messageId }) {
  const text = html`<${HostileText} text=${topic} lengthMax=${60} /> ${partition}, offset ${count(offset)}`;
  return messageId ? html`<a href=${addressOf(["messages", messageId])}>${text}</a>` : text;
}

function keyOf({ key }) {
  return key === null ? "–" : html`<${HostileText} text=${key} lengthMax=${60} />`;
}
