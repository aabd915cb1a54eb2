/** A listing that comes page by page: those that were asked for so far, as one list. */

import { useEffect, useRef, useState } from "../view.js";
import { Problem } from "./problem.js";
import { session } from "./session.js";
import { useStore } from "./store.js";

const NOTHING = { items: [], next: undefined, pages: 0, problem: null, isWaiting: true };

/**
 * @template T
 * @typedef {{items: T[], next?: unknown, problem?: unknown}} ListingPage `next` says where to go on, and is not there
 *   where there is no more; `problem` is why some of it could not be read
 */

/**
 * `read` gets a signal, and the `next` of the page before; for the first one nothing.
 * @template T
 * @param {(signal: AbortSignal, next?: any) => Promise<ListingPage<T>>} read
 * @param {unknown[]} about when that changes, all begins anew
 * @returns {{items: T[], isAtEnd: boolean, hasMore: boolean, isWaiting: boolean, problem: Problem | null, more: () => void, again: () => void, anew: () => void}}
 *  neither `isAtEnd` nor `hasMore`: nothing is known yet. `more`: the next page; `again`: as many as are there, read once more, while the old ones stay; `anew`: the first one
 */
export function usePages(read, about) {
  const [state, setState] = useState(NOTHING);
  const ended = useRef(null);
  const { token } = useStore(session);
  const go = async (before, pages) => {
    ended.current?.abort();
    const { signal } = (ended.current = new AbortController());
    setState((last) => ({ ...last, isWaiting: true }));
    try {
      let found = before;
      for (let number = 0; number < pages && (number === 0 || found.next !== undefined); number += 1) {
        found = withPage(found, await read(signal, found.next));
        if (signal.aborted) return;
      }
      setState({ ...found, isWaiting: false });
    } catch (error) {
      if (!signal.aborted) setState((last) => ({ ...last, problem: Problem.of(error), isWaiting: false }));
    }
  };
  const anew = () => {
    setState(NOTHING);
    go(NOTHING, 1);
  };
  useEffect(() => {
    anew();
    return () => ended.current?.abort();
  }, [JSON.stringify([...about, token])]);
  const { items, next, pages, problem, isWaiting } = state;
  return {
    items,
    isAtEnd: pages > 0 && next === undefined,
    hasMore: next !== undefined,
    isWaiting,
    problem,
    more: () => go(state, 1),
    again: () => go(NOTHING, Math.max(1, pages)),
    anew,
  };
}

function withPage(before, page) {
  const problem = page.problem ? Problem.of(page.problem) : null;
  return { items: [...before.items, ...page.items], next: page.next, pages: before.pages + 1, problem, isWaiting: true };
}
