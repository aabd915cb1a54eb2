/** A cluster's nodes and partitions in words. Pure. */

const TROUBLES = {
  withoutLeader: ["no leader", "bad"],
  belowMinInsync: ["too few in sync", "bad"],
  underReplicated: ["under-replicated", "warn"],
};

/** Racks in the order of their names, with their nodes by number; "" at the end: nodes that have none.
 * @param {{node: number, rack: string}[]} nodes @returns {{rack: string, nodes: object[]}[]} */
export function racksOf(nodes) {
  const racks = new Map();
  for (const each of nodes) racks.set(each.rack, [...(racks.get(each.rack) ?? []), each]);
  return [...racks]
    .map(([rack, all]) => ({ rack, nodes: all.sort((one, other) => one.node - other.node) }))
    .sort((one, other) => (one.rack === "") - (other.rack === "") || (one.rack < other.rack ? -1 : 1));
}

/** How a node is, each with the colour of its badge.
 * @param {{live: boolean, draining: boolean, leaving: boolean, replicas: number}} node @returns {[string, string][]} */
export function statesOf({ live, draining, leaving, replicas }) {
  const states = [live ? ["live", "good"] : ["away", "bad"]];
  if (draining) states.push(replicas === 0 ? ["drained", "good"] : ["draining", "warn"]);
  if (leaving) states.push(["leaving", "warn"]);
  return states;
}

/** @param {string} trouble as the server calls it @returns {[string, string]} in words, and a badge's colour */
export function troubleOf(trouble) {
  return TROUBLES[trouble] ?? [trouble, "warn"];
}

/** “1, 2, 3”, or “none”. @param {number[]} nodes */
export function nodesText(nodes) {
  return nodes.join(", ") || "none";
}
