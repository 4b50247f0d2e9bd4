// The demo's messages: 20,000 real flight records, one partition per airport of departure. Which
// message a transaction id names follows from the generation and the record's position alone, so
// that a consumer can check what it gets without having seen it sent.

import { readFileSync } from 'node:fs';

const DATA_FILE = '../data/flights-20k.json';
const TRANSACTION_ID = /^flights-g([1-9]\d*)-(\d{5})$/;

/** One record of the data set. */
interface FlightRecord {
  readonly date: string;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

/** One message, the same in every generation but for its transaction id. */
export interface Flight {
  /** 0-based position in the data set: the order of sending inside a partition. */
  readonly position: number;
  readonly partition: string;
  /** The payload exactly as it is sent, and has to come back. */
  readonly payloadText: string;
}

/** Reads the data set from the `vega-datasets` package. */
export function loadFlights(): readonly Flight[] {
  const file = new URL(DATA_FILE, import.meta.resolve('vega-datasets'));
  const records = JSON.parse(readFileSync(file, 'utf8')) as readonly FlightRecord[];
  return records.map((record, position) => ({
    position,
    partition: record.origin,
    payloadText: JSON.stringify(record),
  }));
}

/** The transaction id of a flight in a generation, 1-based. */
export function transactionIdOf(generation: number, position: number): string {
  return `flights-g${generation}-${String(position).padStart(5, '0')}`;
}

/** Reverses {@link transactionIdOf}; undefined for any other text. */
export function parseTransactionId(
  text: string,
): { readonly generation: number; readonly position: number } | undefined {
  const match = TRANSACTION_ID.exec(text);
  if (match === null) return undefined;
  return { generation: Number(match[1]), position: Number(match[2]) };
}
