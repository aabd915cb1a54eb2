/** What of a topic's messages is wanted. */

import { html, useState } from "../view.js";
import { localField } from "../format/time.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";

const STARTS = { newest: "the newest", earliest: "the earliest", offset: "an offset", time: "a time" };

/** @param {{query: Record<string, string>, partitions: number, onSearch: (query: Record<string, string>) => void}} props */
export function MessageSearch({ query, partitions, onSearch }) {
  const [wanted, setWanted] = useState({ from: "newest", at: "", partition: "", key: "", tag: "", filter: "", ...query });
  const set = (name) => (event) => setWanted({ ...wanted, [name]: event.target.value });
  const begin = (event) => setWanted({ ...wanted, from: event.target.value, at: event.target.value === "time" ? String(Date.now() - 3_600_000) : "" });
  const fault = faultOf(wanted, partitions);
  const submit = (event) => {
    event.preventDefault();
    if (!Object.keys(fault).length) onSearch({ ...wanted, from: wanted.from === "newest" ? "" : wanted.from });
  };
  const text = (name) => (attributes) =>
    html`<input ...${attributes} value=${wanted[name]} onInput=${set(name)} spellcheck=${false} autocomplete="off" />`;
  return html`<form class="card search-form" onSubmit=${submit} role="search" aria-label="Messages">
    <div class="fields">
      <${Field} label="Begin with">
        ${(attributes) => html`<select ...${attributes} value=${wanted.from} onChange=${begin}>${Object.entries(STARTS).map(([value, said]) => html`<option value=${value} selected=${value === wanted.from}>${said}</option>`)}</select>`}
      <//>
      ${wanted.from === "offset" && html`<${Field} label="Offset" fault=${fault.at}>${text("at")}<//>`}
      ${wanted.from === "time" &&
      html`<${Field} label="Time" fault=${fault.at}>
        ${(attributes) => html`<input ...${attributes} type="datetime-local" step="1" value=${wanted.at && localField(Number(wanted.at))} onInput=${(event) => setWanted({ ...wanted, at: event.target.value ? String(new Date(event.target.value).getTime()) : "" })} />`}
      <//>`}
      <${Field} label="Partition" fault=${fault.partition}>
        ${(attributes) => html`<input ...${attributes} inputmode="numeric" placeholder="all" value=${wanted.partition} onInput=${set("partition")} />`}
      <//>
      <${Field} label="Key">${text("key")}<//>
      <${Field} label="Tag">${text("tag")}<//>
      <${Field} label="Filter" hint=${'header.region = "eu"'}>${text("filter")}<//>
    </div>
    <div class="dialog-end"><${Button} kind="main" type="submit">Search<//></div>
  </form>`;
}

function faultOf({ from, at, partition }, partitions) {
  const fault = {};
  if (from === "offset" && !/^\d{1,15}$/.test(at)) fault.at = "A whole number";
  if (from === "time" && !/^\d+$/.test(at)) fault.at = "A time";
  if (partition && !(/^\d+$/.test(partition) && Number(partition) < partitions)) fault.partition = `From 0 to ${partitions - 1}`;
  return fault;
}
