/** Messages of a topic as they come. */

import { html, useState } from "../view.js";
import { get } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { TAIL_SHOWN_MAX, useTail } from "../live/use_tail.js";
import { preview } from "../format/body.js";
import { count, counted } from "../format/number.js";
import { time } from "../format/time.js";
import { Badge } from "../parts/badge.js";
import { Button } from "../parts/button.js";
import { EmptyState } from "../parts/empty_state.js";
import { Field } from "../parts/field.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { addressOf, goTo } from "../routing/route.js";

const SUGGESTED_MAX = 1_000;
const GAPS = {
  removed: "were removed before they could be read",
  damaged: "cannot be read",
  cut: "were cut from the log by an unclean election",
  partitionGone: "the partition is gone",
  topicReplaced: "the topic was made anew",
};

function TailView({ query }) {
  const [isPaused, setIsPaused] = useState(false);
  const tail = useTail({ topic: query.topic ?? "", filter: query.filter ?? "", partition: query.partition ?? "", isPaused });
  const isOn = Boolean(query.topic);
  return html`<${ScreenHead} title="Live tail" trail=${isOn ? [{ text: "Topics", href: addressOf(["topics"]) }, { text: query.topic, href: addressOf(["topics", query.topic]) }] : []}>
      ${isOn && html`<${Button} onClick=${() => setIsPaused(!isPaused)}>${isPaused ? "Go on" : "Pause"}<//><${Button} onClick=${tail.clear}>Clear<//>`}
    <//>
    <${TailForm} key=${JSON.stringify(query)} query=${query} />
    <${ProblemNotice} problem=${tail.problem} />
    ${isOn && html`<p class="summary">${stateOf(tail, isPaused)}</p>`}
    ${isOn ? html`<${Entries} tail=${tail} topic=${query.topic} />` : html`<${EmptyState} title="Choose a topic">Its messages show here as they come. Nothing is leased, and nothing is acknowledged.<//>`}`;
}

function TailForm({ query }) {
  const [wanted, setWanted] = useState({ topic: "", partition: "", filter: "", ...query });
  const known = useAnswer((signal) => get("topics", { limit: SUGGESTED_MAX }, signal), []).answer?.topics ?? [];
  const set = (name) => (event) => setWanted({ ...wanted, [name]: event.target.value });
  const text = (name, more = {}) => (attributes) => html`<input ...${attributes} ...${more} value=${wanted[name]} onInput=${set(name)} spellcheck=${false} autocomplete="off" />`;
  const submit = (event) => {
    event.preventDefault();
    if (wanted.topic.trim()) goTo(addressOf(["tail"], { ...wanted, topic: wanted.topic.trim() }));
  };
  return html`<form class="card search-form" onSubmit=${submit}>
    <div class="fields">
      <${Field} label="Topic">${text("topic", { list: "known-topics" })}<//>
      <${Field} label="Partition">${text("partition", { placeholder: "all", inputmode: "numeric" })}<//>
      <${Field} label="Filter" hint=${'tag = "refund"'}>${text("filter")}<//>
      <div class="field-end"><${Button} kind="main" type="submit" why=${wanted.topic.trim() ? null : "Name a topic."}>Follow<//></div>
    </div>
    <datalist id="known-topics">${known.map((each) => html`<option key=${each.id} value=${each.name} />`)}</datalist>
  </form>`;
}

function Entries({ tail, topic }) {
  if (tail.entries.length === 0) {
    return html`<${EmptyState} title="Waiting for messages"><a href=${addressOf(["send"], { topic })}>Send one</a>, and it shows here.<//>`;
  }
  return html`<ol class="tail-list" aria-label="Messages, the newest first">
    ${tail.entries.map((each) => html`<${Entry} key=${each.number} entry=${each} />`)}
  </ol>`;
}

function Entry({ entry }) {
  if (entry.gap) return html`<li class="tail-gap"><span class="wide">Partition ${entry.gap.partition}: offsets from ${entry.gap.fromOffset} on: ${GAPS[entry.gap.reason] ?? entry.gap.reason}</span></li>`;
  const message = entry.message;
  return html`<li>
    <a href=${addressOf(["messages", message.messageId])}>${time(message.appendTime)}</a>
    <span class="quiet">${message.partition} / ${count(message.offset)}</span>
    <span>${message.key && html`<${HostileText} text=${message.key.slice(0, 40)} />`}</span>
    <span class="preview mono"><${HostileText} text=${preview(message)} /> ${message.truncated && html`<${Badge}>cut<//>`}</span>
  </li>`;
}

function stateOf(tail, isPaused) {
  const seen = counted(tail.seen, "message");
  const shown = tail.seen > TAIL_SHOWN_MAX ? `; the last ${TAIL_SHOWN_MAX} are shown` : "";
  if (isPaused) return `Paused. ${seen} so far${shown}.`;
  if (tail.source === "polling") return `Asked every 2 s, as there are too many streams. ${seen} so far${shown}.`;
  return tail.isOpen ? `Live. ${seen} so far${shown}.` : "Connecting …";
}

/** @type {import("../routing/matching.js").Screen} */
export const tail = { pattern: "tail", title: "Live tail", key: "l", View: TailView };
