// Where a listing of partitions goes on, as clients hold it: opaque, so that what it means may change.

const FORM = /^p1\.([0-9a-z]{1,7})$/;
const RADIX = 36;
const NUMBER_MAX = 0xffff_ffff;

/** The cursor behind a partition number. */
export function writeCursor(partition: number): string {
  return `p1.${partition.toString(RADIX)}`;
}

/** The partition number of a cursor; undefined when it is none. */
export function readCursor(text: string): number | undefined {
  const digits = FORM.exec(text)?.[1];
  if (digits === undefined) return undefined;
  const partition = Number.parseInt(digits, RADIX);
  return partition <= NUMBER_MAX ? partition : undefined;
}
