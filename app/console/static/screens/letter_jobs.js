/** Jobs that send a group's letters back: how far they are; one that runs is cancelled here. */

import { html, useEffect, useRef } from "../view.js";
import { useRight } from "../api/rights.js";
import { change, get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { useChange } from "../api/use_change.js";
import { count } from "../format/number.js";
import { ago } from "../format/time.js";
import { Badge } from "../parts/badge.js";
import { Button } from "../parts/button.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";
import { say, sayWhyNot } from "../parts/toasts.js";

const EVERY_MS = 2_000;
const KINDS = { running: "warn", done: "good", gone: "bad" };

const columnsOf = (right, why, cancel) => [
  { title: "Begun", isMain: true, of: (job) => ago(job.createdAt) },
  { title: "State", of: (job) => html`<${Badge} kind=${KINDS[job.state] ?? "plain"}>${job.state}<//>` },
  { title: "Sent back", isNumber: true, of: (job) => `${count(job.moved)} of ${count(job.total)}` },
  { title: "Stayed", isNumber: true, of: (job) => count(job.failed) },
  { title: "", of: (job) => job.state === "running" && html`<span class="row-actions"><${Button} kind="quiet" ...${{ right, why }} onClick=${() => cancel(job)}>Cancel<//></span>` },
];

/** @param {{group: string, topic: string, onFinished: () => void}} props */
export function LetterJobs({ group, topic, onFinished }) {
  const { answer, problem, again } = useAnswer((signal) => get(path`groups/${group}/redrive`, {}, signal), [group, "redrive"], { everyMs: EVERY_MS });
  const right = useRight("send", { group });
  const jobs = (answer?.jobs ?? []).filter((each) => each.topic === topic);
  const finished = jobs.filter((each) => each.finishedAt).length;
  const before = useRef(null);
  useEffect(() => {
    if (!answer) return;
    if (before.current !== null && before.current !== finished) onFinished();
    before.current = finished;
  }, [answer, finished]);
  const { why, run } = useChange(sayWhyNot);
  const cancel = async (job) => {
    await run(async () => {
      await change("DELETE", path`groups/${group}/redrive/${job.jobId}`);
      say("Nothing more of it is begun.");
    });
    again();
  };
  return html`<${ProblemNotice} problem=${problem} onAgain=${again} />
    ${jobs.length > 0 && html`<section aria-label="Sent back"><h2 class="section-title">Sent back</h2><${Table} caption="Jobs that send letters back" columns=${columnsOf(right, why, cancel)} rows=${jobs} keyOf=${(job) => job.jobId} pageSize=${10} /></section>`}`;
}
