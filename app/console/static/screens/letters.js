/** A group's dead letters: why they died, a look at each, and sending them back. */

import { html, useState } from "../view.js";
import { readLetters } from "../api/letters.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { usePages } from "../api/use_pages.js";
import { preview } from "../format/body.js";
import { countsByReason, letterTopics, originOf, reasonOf } from "../format/letter.js";
import { count, counted } from "../format/number.js";
import { ago } from "../format/time.js";
import { EmptyState } from "../parts/empty_state.js";
import { Field } from "../parts/field.js";
import { HostileText } from "../parts/hostile_text.js";
import { MoreOf } from "../parts/more_of.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Table } from "../parts/table.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf, goTo } from "../routing/route.js";
import { LetterJobs } from "./letter_jobs.js";
import { LetterRedrive } from "./letter_redrive.js";

/** All that were asked for are on one page, unless somebody asks for very many. */
const ROWS_MAX = 1_000;

const SUMMARY = [
  { title: "Reason", isMain: true, of: ([reason]) => html`<${HostileText} text=${reason} />` },
  { title: "Letters", isNumber: true, of: ([, number]) => count(number) },
];

const columnsOf = (chosen, turn) => [
  { title: "Chosen", of: (each) => html`<input type="checkbox" aria-label=${`Choose letter ${each.partition}:${each.offset}`} checked=${chosen.has(each.messageId)} onChange=${() => turn(each.messageId)} />` },
  { title: "Letter", isMain: true, of: (each) => html`<a href=${addressOf(["messages", each.messageId])}>${each.partition}:${each.offset}</a>` },
  { title: "From", of: (each) => html`<${HostileText} text=${originOf(each).place} lengthMax=${80} />` },
  { title: "Attempts", isNumber: true, of: (each) => html`<${HostileText} text=${originOf(each).attempts} lengthMax=${10} />` },
  { title: "Died", of: (each) => ago(each.appendTime) },
  { title: "Reason", of: (each) => html`<${HostileText} text=${reasonOf(each)} lengthMax=${120} />` },
  { title: "Body", isRest: true, of: (each) => html`<span class="preview mono"><${HostileText} text=${preview(each)} /></span>` },
];

function LettersView({ names, query }) {
  const name = names.group;
  const { answer, problem, again } = useAnswer(async (signal) => {
    const [group, { offsets }] = await Promise.all([get(path`groups/${name}`, {}, signal), get(path`groups/${name}/offsets`, {}, signal)]);
    return letterTopics(group, offsets);
  }, [name, "letter topics"]);
  const trail = [{ text: "Groups", href: addressOf(["groups"]) }, { text: name, href: addressOf(["groups", name]) }];
  const topic = query.topic ?? answer?.[0];
  return html`<${ScreenHead} title="Dead letters" trail=${trail} />
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${!answer && !problem && html`<${Waiting} />`}
    ${answer && answer.length > 1 && html`<div class="fields apart"><${Choice} ...${{ name, topic, topics: answer }} /></div>`}
    ${answer && !topic && html`<${EmptyState} title="There are no dead letters">The group has not begun to read a topic yet.<//>`}
    ${topic && html`<${Letters} key=${topic} group=${name} topic=${topic} />`}`;
}

function Choice({ name, topic, topics }) {
  const choose = (event) => goTo(addressOf(["groups", name, "letters"], { topic: event.target.value }));
  return html`<${Field} label="Letters in">${(attributes) => html`<select ...${attributes} value=${topic} onChange=${choose}>${topics.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`}<//>`;
}

function Letters({ group, topic }) {
  const listing = usePages((signal, next) => readLetters(group, topic, signal, next), [group, topic]);
  const { items, isAtEnd, isWaiting, problem, again, anew } = listing;
  const [turned, setTurned] = useState(new Set());
  const turn = (id) => setTurned((last) => (last.has(id) ? new Set([...last].filter((each) => each !== id)) : new Set([...last, id])));
  // What was handled meanwhile is chosen no more.
  const chosen = new Set(items.map((each) => each.messageId).filter((id) => turned.has(id)));
  const onDone = () => {
    setTurned(new Set());
    anew();
  };
  const isEmpty = items.length === 0 && !isWaiting && !problem;
  return html`<${ProblemNotice} problem=${problem} onAgain=${again} />
    <p class="summary" role="status">${items.length > 0 && `${counted(items.length, "letter")} not handled, the oldest first${isAtEnd ? "; these are all" : "; there may be more"}`}</p>
    ${isEmpty && html`<${EmptyState} title=${isAtEnd ? "All dead letters are handled" : "Those looked at are handled"}>What fails too often comes to <${HostileText} text=${topic} lengthMax=${80} />.<//>`}
    <div class="cards">
      ${items.length > 0 &&
      html`<section aria-label="By reason"><h2 class="section-title">By reason</h2><${Table} caption="Letters by reason" columns=${SUMMARY} rows=${countsByReason(items)} keyOf=${([reason]) => reason} pageSize=${10} /></section>
        <section class="messages" aria-label="Letters">
          <div class="card-head"><h2>Letters</h2><${LetterRedrive} ...${{ group, topic, chosen, onDone }} /></div>
          <${Table} caption="Letters" columns=${columnsOf(chosen, turn)} rows=${items} keyOf=${(each) => each.messageId} pageSize=${ROWS_MAX} />
        </section>`}
      <${MoreOf} listing=${listing}>Later ones<//>
      <${LetterJobs} group=${group} topic=${topic} onFinished=${again} />
    </div>`;
}

/** @type {import("../routing/matching.js").Screen} */
export const letters = { pattern: "groups/:group/letters", title: "Dead letters", View: LettersView };
