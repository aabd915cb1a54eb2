/** Changing settings: what would change is shown first, and done only then. */

import { html, useState } from "../view.js";
import { useRight } from "../api/rights.js";
import { change } from "../api/server.js";
import { useChange } from "../api/use_change.js";
import { WORDS, changesOf, formOf, settingFaults, settingsOf } from "../format/setting_form.js";
import { counted } from "../format/number.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Field } from "../parts/field.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";
import { say } from "../parts/toasts.js";

const valueText = (text) => (text === "" ? "default" : html`<${HostileText} text=${text} />`);
const CHANGES = [
  { title: "Setting", isMain: true, of: (each) => each.name },
  { title: "Now", of: (each) => (each.before === "" ? "none" : valueText(each.before)) },
  { title: "Then", of: (each) => valueText(each.after) },
];

/** @param {{on: {topic?: string, group?: string}, where: string, member: "config" | "settings",
 *   settings: Record<string, unknown>, onDone: () => void}} props `where` is the path that is changed, `member` what the
 *   settings are called in its body */
export function SettingChange({ on, where, member, settings, onDone }) {
  const [isOpen, setIsOpen] = useState(false);
  const right = useRight("manage", on);
  return html`<${Button} right=${right} onClick=${() => setIsOpen(true)}>Change …<//>
    ${isOpen && html`<${ChangeDialog} ...${{ where, member, settings, onDone }} onClose=${() => setIsOpen(false)} />`}`;
}

function ChangeDialog({ where, member, settings, onDone, onClose }) {
  const [before] = useState(() => formOf(settings));
  const [form, setForm] = useState(before);
  const [isShown, setIsShown] = useState(false);
  const { problem, why: whyAsking, run, forget } = useChange();
  const [mayLose, setMayLose] = useState(false);
  const changes = changesOf(before, form);
  const refused = problem?.field.split(".").at(-1);
  const faults = { ...(refused in form ? { [refused]: problem.detail } : {}), ...settingFaults(changes) };
  const set = (name) => (event) => {
    setForm({ ...form, [name]: event.target.value });
    forget();
  };
  const apply = async () => {
    const isDone = await run(async () => {
      await change("PATCH", where, { [member]: settingsOf(changes) }, mayLose ? { allowDataLoss: true } : {});
      say(`${counted(changes.length, "setting")} changed.`);
      onDone();
      onClose();
    });
    if (!isDone) setIsShown(false);
  };
  const why = whyAsking ?? (Object.keys(settingFaults(changes)).length ? "Something typed is no such value." : changes.length ? null : "Nothing is changed.");
  return html`<${Dialog} title="Change settings" onClose=${onClose}>
    <${ProblemNotice} problem=${problem} />
    ${isShown
      ? html`<p role="status">So it would be. Nothing is changed yet.</p><${Table} caption="What would change" columns=${CHANGES} rows=${changes} keyOf=${(each) => each.name} />
          ${member === "config" && html`<label class="choice"><input type="checkbox" checked=${mayLose} onChange=${() => setMayLose(!mayLose)} />Messages may be deleted by it</label>`}`
      : html`<p class="hint">An empty field means the default.</p><${Fields} ...${{ form, set, faults }} />`}
    <div class="dialog-end">
      <${Button} kind="quiet" onClick=${isShown ? () => setIsShown(false) : onClose}>${isShown ? "Back" : "Cancel"}<//>
      ${!isShown && html`<${Button} kind="main" why=${why} onClick=${() => setIsShown(true)}>Show what would change<//>`}
      ${isShown && html`<${Button} kind="danger" why=${why} onClick=${apply}>Change it<//>`}
    </div>
  <//>`;
}

function Fields({ form, set, faults }) {
  const control = (name) => (attributes) =>
    WORDS[name]?.includes(form[name])
      ? html`<select ...${attributes} value=${form[name]} onChange=${set(name)}>${WORDS[name].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`
      : html`<input ...${attributes} value=${form[name]} onInput=${set(name)} spellcheck=${false} autocomplete="off" />`;
  return html`<div class="fields">${Object.keys(form).map((name) => html`<${Field} key=${name} label=${name} fault=${faults[name]}>${control(name)}<//>`)}</div>`;
}
