/** Moving a group in a topic: where it would go on is shown first, and done only then. */

import { html, useState } from "../view.js";
import { useRight } from "../api/rights.js";
import { change, path } from "../api/server.js";
import { useChange } from "../api/use_change.js";
import { count, counted } from "../format/number.js";
import { localField } from "../format/time.js";
import { landedElsewhere, seekBody, seekFaults, whyElsewhere } from "../format/seek_target.js";
import { Badge } from "../parts/badge.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Field } from "../parts/field.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";
import { say } from "../parts/toasts.js";

const KINDS = [
  ["earliest", "the oldest message kept"],
  ["latest", "what comes from now on"],
  ["time", "a time"],
  ["offset", "an offset"],
  ["relative", "so many messages on or back"],
];

const OUTCOME = [
  { title: "Partition", isMain: true, of: (each) => `Partition ${each.partition}` },
  { title: "Now", isNumber: true, of: (each) => count(each.previous) },
  { title: "Then", isNumber: true, of: (each) => (each.problem ? html`<${Badge} kind="bad" title=${each.problem.detail}>${each.problem.code}<//>` : count(each.offset)) },
];

/** @param {{group: string, places: object[], onDone: () => void}} props */
export function GroupSeek({ group, places, onDone }) {
  const [isOpen, setIsOpen] = useState(false);
  const right = useRight("seek", { group });
  const topics = [...new Set(places.map((each) => each.topic))];
  const why = topics.length === 0 ? "It has not begun to read a topic yet." : null;
  return html`<${Button} right=${right} why=${why} onClick=${() => setIsOpen(true)}>Move …<//>
    ${isOpen && html`<${SeekDialog} ...${{ group, topics, onDone }} onClose=${() => setIsOpen(false)} />`}`;
}

function SeekDialog({ group, topics, onDone, onClose }) {
  const [form, setForm] = useState({ topic: topics[0], kind: "earliest", partition: "", time: localField(Date.now()), offset: "0", relative: "-10" });
  const [outcome, setOutcome] = useState(null);
  const { problem, why: whyAsking, run } = useChange();
  const right = useRight("seek", { topic: form.topic });
  const faults = seekFaults(form);
  const why = whyAsking ?? Object.values(faults)[0] ?? null;
  // What was shown was of another form: it is to be shown again before it can be done.
  const set = (name) => (event) => {
    setForm({ ...form, [name]: event.target.value });
    setOutcome(null);
  };
  const seek = (dryRun) =>
    run(async () => {
      const answer = await change("POST", path`groups/${group}/offsets`, seekBody(form, dryRun));
      const elsewhere = dryRun ? 0 : landedElsewhere(outcome.partitions, answer.partitions);
      setOutcome({ ...answer, elsewhere });
      if (!dryRun) onDone();
      if (!dryRun && answer.failed === 0 && elsewhere === 0) {
        say(`${group} is moved in ${form.topic}.`);
        onClose();
      }
    });
  return html`<${Dialog} title="Move the group" onClose=${onClose}>
    <${SeekFields} ...${{ form, set, faults, topics }} />
    <${ProblemNotice} problem=${problem} />
    ${outcome && html`<${Outcome} outcome=${outcome} kind=${form.kind} />`}
    <div class="dialog-end">
      <${Button} kind="quiet" onClick=${onClose}>${outcome && !outcome.dryRun ? "Close" : "Cancel"}<//>
      <${Button} kind=${outcome ? "plain" : "main"} right=${right} why=${why} onClick=${() => seek(true)}>Show what would be<//>
      <${Button} kind="danger" right=${right} why=${why ?? (outcome?.dryRun ? null : "First look at what would be.")} onClick=${() => seek(false)}>Move it<//>
    </div>
  <//>`;
}

function SeekFields({ form, set, faults, topics }) {
  const text = (name, more = {}) => (attributes) => html`<input ...${attributes} ...${more} value=${form[name]} onInput=${set(name)} autocomplete="off" />`;
  const choice = (name, choices) => (attributes) => html`<select ...${attributes} value=${form[name]} onChange=${set(name)}>${choices.map(([value, said]) => html`<option key=${value} value=${value}>${said}</option>`)}</select>`;
  return html`<div class="fields">
    <${Field} label="Topic">${choice("topic", topics.map((each) => [each, each]))}<//>
    <${Field} label="Partition" hint="Nothing: all of them" fault=${faults.partition}>${text("partition", { inputmode: "numeric" })}<//>
    <${Field} label="Go on with">${choice("kind", KINDS)}<//>
    ${form.kind === "time" && html`<${Field} label="Time" fault=${faults.time}>${text("time", { type: "datetime-local", step: 1 })}<//>`}
    ${form.kind === "offset" && html`<${Field} label="Offset" fault=${faults.offset}>${text("offset", { inputmode: "numeric" })}<//>`}
    ${form.kind === "relative" && html`<${Field} label="Messages" hint="-10: ten again" fault=${faults.relative}>${text("relative")}<//>`}
  </div>`;
}

function Outcome({ outcome, kind }) {
  return html`<div role="status"><p>${outcomeText(outcome)}</p></div>
    ${outcome.dryRun && whyElsewhere(kind) && html`<p class="hint">Where it lands may differ. ${whyElsewhere(kind)}</p>`}
    <${Table} caption="Where it would go on" columns=${OUTCOME} rows=${outcome.partitions} keyOf=${(each) => each.partition} pageSize=${10} />`;
}

function outcomeText({ dryRun, failed, elsewhere }) {
  if (dryRun) return "So it would be. Nothing is changed yet.";
  const landed = elsewhere > 0 ? ` In ${counted(elsewhere, "partition")} it landed elsewhere than it was shown, as things went on meanwhile.` : "";
  return failed > 0 ? `${counted(failed, "partition")} could not be moved; the others are.${landed}` : `It is moved.${landed}`;
}
