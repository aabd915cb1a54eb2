/** What a topic gets later: schedules that send again and again, and messages that wait for their time. */

import { html } from "../view.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { bytes, count, counted } from "../format/number.js";
import { duration, time } from "../format/time.js";
import { HostileText } from "../parts/hostile_text.js";
import { Table } from "../parts/table.js";

const SHOWN_MAX = 100;

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
  const recurring = useAnswer((signal) => get(path`topics/${topic}/schedules`, { limit: SHOWN_MAX }, signal), [topic, 1]).answer?.schedules ?? [];
  const later = useAnswer((signal) => get(path`topics/${topic}/scheduled`, { limit: SHOWN_MAX }, signal), [topic, 2]).answer;
  return html`${recurring.length > 0 &&
    html`<section aria-label="Schedules">
      <h2 class="section-title">Schedules</h2>
      <${Table} caption="Schedules" columns=${RECURRING} rows=${recurring} keyOf=${(each) => each.schedule} pageSize=${10} />
    </section>`}
    ${later?.scheduled.length > 0 &&
    html`<section aria-label="Messages for later">
      <h2 class="section-title">${counted(later.pending, "message")} for later</h2>
      <${Table} caption="Messages for later" columns=${SCHEDULED} rows=${later.scheduled} keyOf=${(each) => each.scheduleId} pageSize=${10} />
    </section>`}`;
}
