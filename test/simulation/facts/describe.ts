// Messages as the trace shows them.

import type { Message } from '@queen-ts/raft';

/** One line without the contents of entries. */
export function describeSimMessage(message: Message): string {
  const { from, to, kind, term } = message;
  return `${from}->${to} ${kind} t${term} ${detailsOf(message)}`.trimEnd();
}

function detailsOf(message: Message): string {
  switch (message.kind) {
    case 'append': {
      const { entries, prevIndex, prevTerm, commitIndex } = message;
      const terms = entries.map(({ index, term }) => `${index}/t${term}`).join(' ');
      return `after ${prevIndex}/t${prevTerm} [${terms}] commit ${commitIndex}`;
    }
    case 'appendReply':
      return `${message.rejected ? 'refused' : 'accepted'} ${message.index}`;
    case 'voteRequest':
      return `${message.preVote ? 'pre ' : ''}log ends at ${message.lastIndex}/t${message.lastTerm}`;
    case 'voteReply':
      return `${message.preVote ? 'pre ' : ''}${message.granted ? 'granted' : 'refused'}`;
    case 'heartbeat':
    case 'heartbeatReply':
      return `round ${message.readRound}`;
    default:
      return '';
  }
}
