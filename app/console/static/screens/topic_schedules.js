/** What a topic gets later: schedules that send again and again, and messages that wait for their time. */

import { html, useState } from "../view.js";
import { get, path } from "../api/server.js";
import { usePages } from "../api/use_pages.js";
import { bytes, count, counted } from "../format/number.js";
import { duration, time } from "../format/time.js";
import { HostileText } from "../parts/hostile_text.js";
import { MoreOf } from "../parts/more_of.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";

const PAGE = 100;

const RECURRING = [
  { title: "Schedule", isMain: true, of: (each) => html`<${HostileText} text=${each.schedule} lengthMax=${80} />` },
  { title: "When", of: (each) => (each.cron ? html`<span class="mono">${each.cron}</span> ${each.timeZone}` : `every ${duration(each.everySeconds * 1000)}`) },
  { title: "Next", of: (each) => (each.nextAt === undefined || each.nextAt === null ? "–" : time(each.nextAt)) },
];

const SCHEDULED = [
  { title: "Due", isMain: true, of: (each) => time(each.deliverAt) },
  { title: "Partition", isNumber: true, of: (each) => count(each.partition) },
  { title: "Key", of: (each) => each.key !== undefined && html`<${HostileText} text=${each.key} lengthMax=${60} />` },
  { title: "Size", isNumber: true, of: (each) => bytes(each.size) },
];

/** Nothing where there is nothing. @param {{topic: string}} props */
export function TopicSchedules({ topic }) {
  const recurring = usePages(async (signal, after) => {
    const { schedules, next } = await get(path`topics/${topic}/schedules`, { limit: PAGE, after }, signal);
    return { items: schedules, next };
  }, [topic, "schedules"]);
  const [pending, setPending] = useState(0);
  const later = usePages(async (signal, cursor) => {
    const answer = await get(path`topics/${topic}/scheduled`, { limit: PAGE, cursor }, signal);
    setPending(answer.pending);
    return { items: answer.scheduled, next: answer.next };
  }, [topic, "scheduled"]);
  return html`<${Listed} title="Schedules" listing=${recurring} columns=${RECURRING} keyOf=${(each) => each.schedule} />
    <${Listed} title="Messages for later" said=${`${counted(pending, "message")} for later`} listing=${later} columns=${SCHEDULED} keyOf=${(each) => each.scheduleId} />`;
}

function Listed({ title, said = title, listing, columns, keyOf }) {
  if (listing.items.length === 0) return null;
  return html`<section aria-label=${title}>
    <h2 class="section-title">${said}</h2>
    <${Table} caption=${title} columns=${columns} rows=${listing.items} keyOf=${keyOf} pageSize=${10} />
    <${ProblemNotice} problem=${listing.problem} onAgain=${listing.again} />
    <${MoreOf} listing=${listing} />
  </section>`;
}
