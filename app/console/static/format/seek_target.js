/** Where a group is to go on, as a form says it and `POST /groups/{group}/offsets` takes it. Pure. */

const WHOLE = /^\d{1,18}$/;
const SIGNED = /^[+-]?\d{1,18}$/;

/** @typedef {{topic: string, kind: "earliest"|"latest"|"time"|"offset"|"relative", partition: string, time: string,
 *   offset: string, relative: string}} SeekForm `partition` is empty for all of them */

/** What is wrong, by field; nothing where it can be sent. @param {SeekForm} form @returns {Record<string, string>} */
export function seekFaults(form) {
  const faults = {};
  if (!form.topic) faults.topic = "Choose a topic.";
  if (form.partition !== "" && !WHOLE.test(form.partition)) faults.partition = "A number from 0, or nothing for all.";
  if (form.kind === "offset" && form.partition === "") faults.partition = "An offset is one partition's: name it.";
  if (form.kind === "time" && Number.isNaN(Date.parse(form.time))) faults.time = "Choose a time.";
  if (form.kind === "offset" && !WHOLE.test(form.offset)) faults.offset = "A number from 0 on.";
  if (form.kind === "relative" && !SIGNED.test(form.relative)) faults.relative = "A number such as -10.";
  return faults;
}

/** The call's body, as text: offsets have more digits than JavaScript's numbers keep.
 * @param {SeekForm} form one without faults @param {boolean} dryRun */
export function seekBody(form, dryRun) {
  const partition = form.partition === "" ? "" : `"partition":${BigInt(form.partition)},`;
  return `{"topic":${JSON.stringify(form.topic)},${partition}"to":${target(form)},"dryRun":${dryRun}}`;
}

/** Why it may go on elsewhere than a dry run showed, for people; empty where it does not depend on what happens meanwhile.
 * @param {SeekForm["kind"]} kind */
export function whyElsewhere(kind) {
  if (kind === "relative") return "It counts from where the group is when it is moved: what is done meanwhile counts too.";
  if (kind === "latest") return "What is sent until it is moved is passed over as well.";
  if (kind === "time") return "What is sent or removed until it is moved may change which message is the first from that time on.";
  if (kind === "earliest") return "What is removed until it is moved cannot be gone back to.";
  return "";
}

/** In how many partitions a move came out otherwise than it was shown.
 * @typedef {{partition: number, offset: number | null}[]} Places
 * @param {Places} shown @param {Places} done */
export function landedElsewhere(shown, done) {
  const offsets = new Map(shown.map((each) => [each.partition, each.offset]));
  return done.filter((each) => !each.problem && each.offset !== offsets.get(each.partition)).length;
}

function target(form) {
  if (form.kind === "time") return `{"time":${Date.parse(form.time)}}`;
  if (form.kind === "offset") return `{"offset":${BigInt(form.offset)}}`;
  if (form.kind === "relative") return `{"relative":${BigInt(form.relative.replace("+", ""))}}`;
  return JSON.stringify(form.kind);
}
