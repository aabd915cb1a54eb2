/** A call that changes something, as the view that asks for it needs it: under way, and why not. */

import { useState } from "../view.js";
import { Problem } from "./problem.js";

const NOTHING = { isAsking: false, problem: null };

/**
 * @param {(problem: Problem) => void} [onProblem] for a view that has no place of its own for it
 * @returns {{problem: Problem | null, why: string | null, run: (ask: () => Promise<void>) => Promise<boolean>, forget: () => void}}
 *  `why` is the reason for which a button cannot be used now; `run` says whether it was done.
 */
export function useChange(onProblem) {
  const [{ isAsking, problem }, setState] = useState(NOTHING);
  const forget = () => setState(NOTHING);
  const run = async (ask) => {
    setState({ isAsking: true, problem: null });
    try {
      await ask();
      forget();
      return true;
    } catch (error) {
      const found = Problem.of(error);
      setState({ isAsking: false, problem: found });
      onProblem?.(found);
      return false;
    }
  };
  return { problem, why: isAsking ? "The server is being asked." : null, run, forget };
}
