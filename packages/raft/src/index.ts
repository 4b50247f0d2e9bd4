export type { Entry, EntryType, HardState, HardStateStore, LogReader, LogStore } from './ports.ts';
export type { NodeId } from './messages.ts';
