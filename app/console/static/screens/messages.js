/** A topic's messages, from where somebody wants to begin. */

import { html } from "../view.js";
import { backward, forward } from "../api/browse.js";
import { useRight } from "../api/rights.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { usePages } from "../api/use_pages.js";
import { filterOf } from "../format/filter.js";
import { counted } from "../format/number.js";
import { EmptyState } from "../parts/empty_state.js";
import { LinkButton } from "../parts/link_button.js";
import { MessageList } from "../parts/message_list.js";
import { MoreOf } from "../parts/more_of.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf, goTo } from "../routing/route.js";
import { MessageSearch } from "./message_search.js";

/** Of more partitions one is looked at, and the first one unless another is chosen. */
export const PARTITIONS_READ_MAX = 128;
const WINDOW_NEWEST = 50;
const WINDOW_FILTERED = 2_000;

function MessagesView({ names, query }) {
  const topic = names.topic;
  const { answer, problem, again } = useAnswer((signal) => get(path`topics/${topic}`, {}, signal), [topic]);
  const right = useRight("receive", { topic });
  const trail = [
    { text: "Topics", href: addressOf(["topics"]) },
    { text: topic, href: addressOf(["topics", topic]) },
  ];
  return html`<${ScreenHead} title="Messages" trail=${trail}>
      <${LinkButton} right=${right} href=${addressOf(["tail"], { topic })}>Follow live<//>
    <//>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${!answer && !problem && html`<${Waiting} />`}
    ${answer && html`<${Found} topic=${answer} query=${query} />`}`;
}

function Found({ topic, query }) {
  const wanted = wantedOf(topic, query);
  const page = usePages((signal, cursors) => pageBehind(topic.name, wanted, cursors ?? startOf(wanted), signal), [topic.name, wanted]);
  const search = (chosen) => goTo(addressOf(["topics", topic.name, "messages"], chosen));
  const isBackward = wanted.from === "newest";
  return html`<${MessageSearch} key=${JSON.stringify(query)} query=${query} partitions=${topic.partitions} onSearch=${search} />
    ${wanted.isOne && html`<p class="hint">The topic has ${counted(topic.partitions, "partition")}; one at a time is looked at.</p>`}
    <${ProblemNotice} problem=${page.problem} onAgain=${page.anew} />
    <p class="summary" role="status">${!page.isWaiting && summaryOf(page, isBackward)}</p>
    ${page.items.length > 0 && html`<${MessageList} messages=${page.items} caption=${`Messages of ${topic.name}`} />`}
    ${page.items.length === 0 && !page.isWaiting && !page.problem && html`<${NoMessages} isAtEnd=${page.isAtEnd} isFiltered=${wanted.filter !== ""} topic=${topic} />`}
    <${MoreOf} listing=${page}>${isBackward ? "Older ones" : "Later ones"}<//>`;
}

function NoMessages({ isAtEnd, isFiltered, topic }) {
  if (!isAtEnd) return html`<${EmptyState} title="Nothing found so far">There is more to look at.<//>`;
  if (isFiltered) return html`<${EmptyState} title="No message matches">Begin earlier, or look for less.<//>`;
  return html`<${EmptyState} title="There are no messages here">
    <a href=${addressOf(["send"], { topic: topic.name })}>Send one</a>, or begin earlier.
  <//>`;
}

/** What an address asks for. */
function wantedOf(topic, query) {
  const chosen = Number.parseInt(query.partition ?? "", 10);
  const isOne = Number.isNaN(chosen) && topic.partitions > PARTITIONS_READ_MAX;
  const only = isOne ? 0 : chosen;
  return {
    states: topic.partitionStates.filter((each) => Number.isNaN(only) || each.partition === only),
    from: query.from ?? "newest",
    at: query.at ?? "",
    filter: filterOf(query),
    isOne,
  };
}

async function pageBehind(topic, wanted, cursors, signal) {
  const page = await readBehind(topic, wanted, cursors, signal);
  return { items: page.messages, next: page.isAtEnd ? undefined : page.cursors, problem: page.firstProblem };
}

function readBehind(topic, { from, states, filter }, cursors, signal) {
  if (from !== "newest") return forward({ topic, filter, cursors, signal });
  const starts = new Map(states.map((each) => [each.partition, each.logStart]));
  const windowSize = filter ? WINDOW_FILTERED : Math.max(5, Math.ceil(WINDOW_NEWEST / states.length));
  return backward({ topic, filter, cursors, starts, windowSize, signal });
}

function startOf({ from, at, states }) {
  const cursorOf = (state) => {
    if (from === "newest") return { offset: state.highWatermark };
    if (from === "time") return { time: Number(at) || 0 };
    if (from === "offset") return { offset: Math.max(Number(at) || 0, state.logStart) };
    return { offset: state.logStart };
  };
  return new Map(states.map((state) => [state.partition, cursorOf(state)]));
}

function summaryOf(page, isBackward) {
  if (page.items.length === 0) return "";
  const order = isBackward ? "the newest first" : "the oldest first";
  return `${counted(page.items.length, "message")}, ${order}${page.isAtEnd ? "; these are all" : ""}`;
}

/** @type {import("../routing/matching.js").Screen} */
export const messages = { pattern: "topics/:topic/messages", title: "Messages", View: MessagesView };
