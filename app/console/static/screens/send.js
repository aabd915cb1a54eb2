/** A form that sends a message. */

import { html, useState } from "../view.js";
import { useRight } from "../api/rights.js";
import { change, get } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { useChange } from "../api/use_change.js";
import { envelopeOf, faultsOf } from "../format/envelope.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { say } from "../parts/toasts.js";
import { addressOf } from "../routing/route.js";

const SUGGESTED_MAX = 1_000;
const EMPTY = { topic: "", key: "", kind: "json", body: '{\n  "hello": "world"\n}', headers: "", tags: "", delaySeconds: "" };

function SendView({ query }) {
  const [form, setForm] = useState({ ...EMPTY, topic: query.topic ?? "" });
  const [sent, setSent] = useState(null);
  const { problem, why: whyAsking, run } = useChange();
  const known = useAnswer((signal) => get("topics", { limit: SUGGESTED_MAX }, signal), []).answer?.topics ?? [];
  const isKnown = form.topic === query.topic || known.some((each) => each.name === form.topic);
  const right = useRight("send", form.topic && isKnown ? { topic: form.topic } : null);
  const set = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  const faults = faultsOf(form);
  const why = whyAsking ?? Object.values(faults)[0] ?? null;
  const send = (event) => {
    event.preventDefault();
    if (why || !right.allowed) return;
    setSent(null);
    run(async () => {
      setSent(await change("POST", "messages", envelopeOf(form)));
      say(`Sent to ${form.topic}.`);
    });
  };
  return html`<${ScreenHead} title="Send a message" />
    <${ProblemNotice} problem=${problem} />
    ${sent && html`<${Sent} sent=${sent} topic=${form.topic} />`}
    <form class="card send-form" onSubmit=${send}>
      <${SendFields} ...${{ form, set, faults, known }} />
      <div class="dialog-end"><${Button} kind="main" type="submit" right=${right} why=${why}>Send<//></div>
    </form>`;
}

function SendFields({ form, set, faults, known }) {
  const text = (name, more = {}) => (attributes) => html`<input ...${attributes} ...${more} value=${form[name]} onInput=${set(name)} spellcheck=${false} autocomplete="off" />`;
  return html`<div class="fields">
      <${Field} label="Topic" fault=${form.topic ? faults.topic : ""}>${text("topic", { list: "known-topics" })}<//>
      <${Field} label="Key" hint="Messages of one key stay in order.">${text("key")}<//>
      <${Field} label="Tags" hint="Separated by commas">${text("tags")}<//>
      <${Field} label="Delay in seconds" fault=${faults.delaySeconds}>${text("delaySeconds", { inputmode: "decimal", placeholder: "0" })}<//>
    </div>
    <datalist id="known-topics">${known.map((each) => html`<option key=${each.id} value=${each.name} />`)}</datalist>
    <fieldset class="choices">
      <legend class="label">The body is</legend>
      ${[["json", "JSON"], ["text", "Text"]].map(([kind, said]) => html`<label class="choice"><input type="radio" name="kind" value=${kind} checked=${form.kind === kind} onChange=${set("kind")} />${said}</label>`)}
    </fieldset>
    <${Field} label="Body" fault=${faults.body}>
      ${(attributes) => html`<textarea ...${attributes} value=${form.body} onInput=${set("body")} spellcheck=${false} />`}
    <//>
    <${Field} label="Headers" hint="One a line: name: value" fault=${faults.headers}>
      ${(attributes) => html`<textarea ...${attributes} class="short" value=${form.headers} onInput=${set("headers")} spellcheck=${false} />`}
    <//>`;
}

function Sent({ sent, topic }) {
  if (sent.messageId) {
    return html`<div class="notice good" role="status"><p class="notice-text">Stored at offset ${sent.offset} of partition ${sent.partition}. <a href=${addressOf(["messages", sent.messageId])}>Look at it</a></p></div>`;
  }
  return html`<div class="notice good" role="status"><p class="notice-text">Kept for later. <a href=${addressOf(["topics", topic])}>To the topic</a></p></div>`;
}

/** @type {import("../routing/matching.js").Screen} */
export const send = { pattern: "send", title: "Send", key: "s", View: SendView };
