/** Sending letters back: the chosen ones, or all, once somebody has read what that means. */

import { html, useState } from "../view.js";
import { useRight } from "../api/rights.js";
import { change, path } from "../api/server.js";
import { useChange } from "../api/use_change.js";
import { count, counted } from "../format/number.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Field } from "../parts/field.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { say } from "../parts/toasts.js";

/** So many can be named at once. */
const CHOSEN_MAX = 1_000;
const RATE = /^([1-9]\d{0,5}|1000000)$/;

/** @param {{group: string, topic: string, chosen: Set<string>, onDone: () => void}} props `chosen` by their ids */
export function LetterRedrive({ group, topic, chosen, onDone }) {
  const [asked, setAsked] = useState(null);
  const rights = [useRight("settle", { group }), useRight("send", { group }), useRight("settle", { topic }), useRight("receive", { topic })];
  const right = rights.find((each) => !each.allowed) ?? rights[0];
  return html`<div class="actions">
    <${Button} right=${right} why=${whyNot(chosen)} onClick=${() => setAsked([...chosen])}>Send chosen back …<//>
    <${Button} right=${right} onClick=${() => setAsked([])}>Send all back …<//>
    ${asked && html`<${RedriveDialog} ...${{ group, topic, onDone, right }} ids=${asked} onClose=${() => setAsked(null)} />`}
  </div>`;
}

function whyNot({ size }) {
  if (size === 0) return "Choose letters first.";
  return size > CHOSEN_MAX ? `At most ${count(CHOSEN_MAX)} at a time.` : null;
}

/** No `ids`: all of them. */
function RedriveDialog({ group, topic, ids, right, onDone, onClose }) {
  const [rate, setRate] = useState("");
  const { problem, why, run } = useChange();
  const fault = rate === "" || RATE.test(rate) ? "" : "A number from 1 to 1,000,000, or nothing.";
  const what = ids.length ? counted(ids.length, "letter") : "all letters that are not handled";
  const send = () =>
    run(async () => {
      const job = await change("POST", path`groups/${group}/redrive`, { topic, messageIds: ids.length ? ids : null, ratePerSecond: rate ? Number(rate) : null });
      say(`${counted(job.total, "letter")} on the way back.`);
      onDone();
      onClose();
    });
  return html`<${Dialog} title="Send letters back" onClose=${onClose}>
    <p>This sends ${what} in <${HostileText} text=${topic} lengthMax=${80} /> to where each came from. Every group of that topic gets them, not only <${HostileText} text=${group} lengthMax=${80} />.</p>
    <${Field} label="Letters a second" hint="Nothing: as fast as it goes" fault=${fault}>${(attributes) => html`<input ...${attributes} inputmode="numeric" autocomplete="off" value=${rate} onInput=${(event) => setRate(event.target.value)} />`}<//>
    <${ProblemNotice} problem=${problem} />
    <div class="dialog-end">
      <${Button} kind="quiet" onClick=${onClose}>Not now<//>
      <${Button} kind="danger" right=${right} why=${fault || why} onClick=${send}>Send back<//>
    </div>
  <//>`;
}
