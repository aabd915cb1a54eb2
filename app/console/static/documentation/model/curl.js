/** A request as a command for a shell. Pure. */

/** The token is not in it: who runs it has it in `ACKLOG_TOKEN`.
 * @param {import("./request_plan.js").Plan} plan @param {{hasToken: boolean, isStream: boolean}} about @returns {string} */
export function curlOf(plan, { hasToken, isStream }) {
  const parts = [`curl${isStream ? " --no-buffer" : ""}${plan.method === "GET" ? "" : ` -X ${plan.method}`} ${quoted(plan.url)}`];
  if (hasToken) parts.push('-H "Authorization: Bearer $ACKLOG_TOKEN"');
  for (const [name, value] of plan.headers) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (plan.body !== null) parts.push(bodyOf(plan.body));
  return parts.join(" \\\n  ");
}

function bodyOf(body) {
  return typeof body === "string" ? `--data-raw ${quoted(body)}` : `--data-binary ${quoted(`@${body.name}`)}`;
}

/** Within single quotes a shell takes everything as it is, but for single quotes. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
