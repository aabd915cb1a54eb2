/** Which calls somebody looks for. Pure. */

/** Tasks with the calls in which every word is found: in their names, or in what they take and fail with. Those by name come
 * first. @param {import("./api_document.js").Task[]} tasks @param {string} text @returns {import("./api_document.js").Task[]} */
export function searched(tasks, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tasks;
  const has = (found) => words.every((word) => found.includes(word));
  const byName = kept(tasks, (call, task) => has(named(call, task)));
  const chosen = new Set(byName.flatMap((task) => task.calls));
  const others = kept(tasks, (call, task) => !chosen.has(call) && has(`${named(call, task)} ${contained(call)}`));
  return [...byName, ...others.map((task) => ({ ...task, title: `${task.title}: in what it takes or answers` }))];
}

function kept(tasks, isWanted) {
  return tasks.map((task) => ({ ...task, calls: task.calls.filter((call) => isWanted(call, task)) })).filter(({ calls }) => calls.length > 0);
}

function named(call, task) {
  return `${call.method} ${call.path} ${call.id} ${call.summary} ${task.title}`.toLowerCase();
}

function contained(call) {
  const parameters = call.parameters.map(({ name, text }) => `${name} ${text}`);
  const bodies = call.bodies.flatMap(({ examples }) => examples.map(({ value }) => JSON.stringify(value)));
  const problems = call.problems.map(({ code }) => code);
  return [call.rights, ...parameters, ...bodies, ...problems].join(" ").toLowerCase();
}
