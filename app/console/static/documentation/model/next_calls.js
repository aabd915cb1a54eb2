/** What somebody usually does after a call: what it has answered is filled in there. Pure. */

const NEXT = {
  sendMessages: { lookAtMessage: "Look at it", receiveMessages: "Receive it" },
  receiveMessages: { acknowledge: "Acknowledge it", giveBack: "Give it back", extend: "Keep it for longer", lookAtMessage: "Look at it" },
  acknowledge: { lookAtMessage: "Look at it", receiveMessages: "Receive the next" },
  giveBack: { receiveMessages: "Receive it again", lookAtMessage: "Look at it" },
  readRecords: { lookAtMessage: "Look at one" },
  putTopic: { sendMessages: "Send to it", describeTopic: "Look at it" },
  putGroup: { receiveMessages: "Receive", describeGroup: "Look at it" },
  createToken: { describeToken: "Look at it" },
  startRedrive: { lookAtRedrive: "How far it is", cancelRedrive: "Cancel it" },
  putSchedule: { describeSchedule: "Look at it", deleteSchedule: "Remove it" },
};

/** @param {string} id of a call @returns {{id: string, text: string}[]} */
export function nextCalls(id) {
  return Object.entries(NEXT[id] ?? {}).map(([next, text]) => ({ id: next, text }));
}
