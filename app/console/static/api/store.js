/** A value that several views look at. */

import { useEffect, useState } from "../view.js";

/** @template T */
export class Store {
  /** @param {T} value */
  constructor(value) {
    this.value = value;
    this.listeners = new Set();
  }

  /** @param {T} value */
  set(value) {
    this.value = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  /** @param {(value: T) => void} listener @returns {() => void} ends it */
  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The value now, and again whenever it changes. @template T @param {Store<T>} store @returns {T} */
export function useStore(store) {
  const [value, setValue] = useState(() => store.value);
  useEffect(() => {
    setValue(() => store.value); // it may have changed since this was drawn
    return store.listen((next) => setValue(() => next));
  }, [store]);
  return value;
}
