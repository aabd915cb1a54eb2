/** Pausing a group and letting it go on. Where only parts of it are paused, they are named before they go on. */

import { html, useState } from "../view.js";
import { useRight } from "../api/rights.js";
import { change, path } from "../api/server.js";
import { useChange } from "../api/use_change.js";
import { time } from "../format/time.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { HostileText } from "../parts/hostile_text.js";
import { Table } from "../parts/table.js";
import { say, sayWhyNot } from "../parts/toasts.js";

const PAUSED = [
  { title: "What", isMain: true, of: pausedThing },
  { title: "Since", of: (each) => time(each.since) },
];

/** @param {{group: object, onDone: () => void}} props */
export function GroupPause({ group, onDone }) {
  const right = useRight("manage", { group: group.name });
  const { why, run } = useChange(sayWhyNot);
  const [isAsked, setIsAsked] = useState(false);
  const isWhole = group.paused.some((each) => each.topic === null);
  const hasParts = group.paused.some((each) => each.topic !== null);
  const ask = (where, said) => {
    setIsAsked(false);
    return run(async () => {
      await change("POST", where, {});
      say(said);
      onDone();
    });
  };
  const pause = () => ask(path`groups/${group.name}/pause`, `${group.name} is paused: what is leased may still be settled.`);
  const resume = () => ask(path`groups/${group.name}/resume`, `${group.name} goes on.`);
  return html`${!isWhole && html`<${Button} ...${{ right, why }} onClick=${pause}>${hasParts ? "Pause all of it" : "Pause"}<//>`}
    ${hasParts && html`<${Button} ...${{ right, why }} onClick=${() => setIsAsked(true)}>Resume …<//>`}
    ${isWhole && !hasParts && html`<${Button} ...${{ right, why }} onClick=${resume}>Resume<//>`}
    ${isAsked && html`<${ResumeDialog} ...${{ group, right, resume }} onClose=${() => setIsAsked(false)} />`}`;
}

function ResumeDialog({ group, right, resume, onClose }) {
  return html`<${Dialog} title="Let the group go on" onClose=${onClose}>
    <p>All of this is paused by somebody, and goes on together:</p>
    <${Table} caption="What goes on" columns=${PAUSED} rows=${group.paused} keyOf=${(each) => each.topic ?? ""} pageSize=${8} />
    <p class="hint">A part of it goes on by itself with <code>acklog groups resume</code>.</p>
    <div class="dialog-end">
      <${Button} kind="quiet" onClick=${onClose}>Cancel<//>
      <${Button} kind="main" right=${right} onClick=${resume}>Resume all of it<//>
    </div>
  <//>`;
}

function pausedThing({ topic, partitions }) {
  if (topic === null) return "the whole group";
  const which = partitions === null ? "all partitions" : `${partitions.length === 1 ? "partition" : "partitions"} ${partitions.join(", ")}`;
  return html`<${HostileText} text=${topic} lengthMax=${60} />, <${HostileText} text=${which} lengthMax=${120} />`;
}
