/** The body of a call that is tried out: from an example, as it is typed, or a file. */

import { html, useId, useState } from "../../view.js";
import { Field } from "../../parts/field.js";
import { memory } from "../exchange/memory.js";
import { exampleText } from "../model/filled.js";

const NO_BODY = "";

/** @param {{call: object, filled: object, change: (changed: object) => void}} props */
export function BodyForm({ call, filled, change }) {
  const [chosen, setChosen] = useState(0);
  if (call.bodies.length === 0) return null;
  const body = call.bodies.find((each) => each.mediaType === filled.mediaType);
  const toType = (event) => {
    const found = call.bodies.find((each) => each.mediaType === event.target.value);
    setChosen(0);
    change({ mediaType: event.target.value, file: null, body: exampleText(found?.examples[0], memory.value) });
  };
  const toExample = (event) => {
    setChosen(Number(event.target.value));
    change({ body: exampleText(body.examples[Number(event.target.value)], memory.value) });
  };
  const types = [...call.bodies.map((each) => each.mediaType), ...(call.isBodyRequired ? [] : [NO_BODY])];
  return html`<div class="body-form">
    <div class="fields">
      ${types.length > 1 && html`<${Choice} label="Body" value=${filled.mediaType} onChange=${toType} choices=${types.map((each) => [each, each || "no body"])} />`}
      ${body?.examples.length > 1 && html`<${Choice} label="Example" value=${chosen} onChange=${toExample} choices=${body.examples.map(({ name }, index) => [index, name])} />`}
    </div>
    ${body && isOfBytes(body) ? html`<${FileField} onFile=${(file) => change({ file })} />` : null}
    ${body && !filled.file && html`<${BodyText} filled=${filled} change=${change} />`}
  </div>`;
}

function BodyText({ filled, change }) {
  const lines = Math.min(18, Math.max(4, filled.body.split("\n").length + 1));
  return html`<${Field} label=${filled.mediaType === "application/json" ? "JSON" : "Text"} fault=${faultOf(filled)}>
    ${(attributes) =>
      html`<textarea ...${attributes} rows=${lines} value=${filled.body} onInput=${(event) => change({ body: event.target.value })} spellcheck=${false} />`}
  <//>`;
}

function Choice({ label, value, onChange, choices }) {
  return html`<${Field} label=${label}>
    ${(attributes) => html`<select ...${attributes} value=${value} onChange=${onChange}>${choices.map(([each, said]) => html`<option value=${each}>${said}</option>`)}</select>`}
  <//>`;
}

function FileField({ onFile }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>From a file</label>
    <input id=${id} type="file" onChange=${(event) => onFile(event.target.files[0] ?? null)} />
  </div>`;
}

function isOfBytes({ mediaType }) {
  return mediaType === "application/octet-stream";
}

/** It may be sent all the same: the server says what it makes of it. */
function faultOf({ mediaType, body }) {
  if (mediaType !== "application/json") return "";
  try {
    JSON.parse(body);
    return "";
  } catch (error) {
    return `No JSON: ${error.message}`;
  }
}
