/** Fields for what stands in a call's path, query and headers: those that are usual, and the others behind a fold. */

import { html } from "../../view.js";
import { Field } from "../../parts/field.js";

/** @typedef {{call: object, filled: object, faults: Record<string, string>, change: (changed: object) => void}} FormProps */

/** @param {FormProps} props */
export function UsualParameters(props) {
  return html`<${Fields} ...${props} parameters=${props.call.parameters.filter(isUsual)} />`;
}

/** @param {FormProps} props */
export function OtherParameters(props) {
  const { call, filled, change } = props;
  const others = call.parameters.filter((each) => !isUsual(each));
  const given = others.filter((each) => filled.parameters[each.id]).length;
  return html`${others.length > 0 &&
    html`<details class="more-fields">
      <summary>${others.length < call.parameters.length ? "More parameters" : "Parameters"} (${given ? `${given} of ${others.length} given` : others.length})</summary>
      <${Fields} ...${props} parameters=${others} />
    </details>`}
    ${call.answerTypes.length > 1 && html`<${AnswerType} call=${call} filled=${filled} change=${change} />`}`;
}

function Fields({ parameters, filled, faults, change }) {
  const set = (id) => (value) => change({ parameters: { ...filled.parameters, [id]: value } });
  const draw = (each) => html`<${ParameterField} key=${each.id} parameter=${each} value=${filled.parameters[each.id] ?? ""} fault=${faults[each.id]} onValue=${set(each.id)} />`;
  return parameters.length > 0 && html`<div class="fields">${parameters.map(draw)}</div>`;
}

function isUsual({ isRequired, example }) {
  return isRequired || example !== undefined;
}

function ParameterField({ parameter, value, fault, onValue }) {
  const { name, place, isRequired, schema } = parameter;
  const choices = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : null);
  const hint = place === "header" ? "header" : schema.type === "array" ? "several: a,b" : undefined;
  const input = (event) => onValue(event.target.value);
  return html`<${Field} label=${isRequired ? `${name} *` : name} hint=${hint} fault=${fault}>
    ${(attributes) =>
      choices
        ? html`<select ...${attributes} value=${value} onChange=${input}><option value="">–</option>${choices.map((each) => html`<option value=${String(each)}>${String(each)}</option>`)}</select>`
        : html`<input ...${attributes} value=${value} onInput=${input} placeholder=${placeholderOf(schema)} spellcheck=${false} autocomplete="off" />`}
  <//>`;
}

function AnswerType({ call, filled, change }) {
  return html`<div class="answer-type"><${Field} label="Answer as">
    ${(attributes) =>
      html`<select ...${attributes} value=${filled.answerType} onChange=${(event) => change({ answerType: event.target.value })}>
        ${call.answerTypes.map((each) => html`<option value=${each}>${each}</option>`)}
      </select>`}
  <//></div>`;
}

function placeholderOf(schema) {
  return schema.default === undefined || schema.default === null ? "" : String(schema.default);
}
