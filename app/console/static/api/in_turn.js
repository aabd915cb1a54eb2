/** Many calls, some at a time, as a browser has few connections. */

const AT_A_TIME = 5;

/** Answers in the order of what was asked; the first call that fails ends it.
 * @template T, R @param {T[]} all @param {(each: T) => Promise<R>} ask @returns {Promise<R[]>} */
export async function inTurn(all, ask) {
  const answers = [];
  const waiting = all.entries();
  const worker = async () => {
    for (const [index, each] of waiting) answers[index] = await ask(each);
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, all.length) }, worker));
  return answers;
}
