// Fields that many answers have, as they look on the wire (data-plane reference §0.2, §0.3).

import { z } from 'zod';

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MICROSECONDS_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const MILLISECONDS_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** An id that the broker has minted, in lower case. */
export const Uuid = z.string().regex(UUID_FORM).meta({ format: 'uuid' });

/** The id of a partition: a UUID text. Routes that take one also take the decimal number in it. */
export const PartitionId = Uuid.describe('Id of a partition; a partition made anew has another.');

/** UTC with six digits of a second. */
export const Microseconds = z.string().regex(MICROSECONDS_FORM).meta({ format: 'date-time' });

/** UTC with three digits of a second. */
export const Milliseconds = z.string().regex(MILLISECONDS_FORM).meta({ format: 'date-time' });

/** A count, a size in bytes, or an offset. */
export const Count = z.int().min(0);

/** Position of a message in its partition, from 0 on. */
export const Offset = z.int().min(0).describe('Position in the partition, from 0 on.');

/** A payload: any JSON value, spelled as it was pushed. */
export const Payload = z.unknown().describe('Any JSON value, spelled as it was pushed.');

/** Seconds, rounded. */
export const Seconds = z.int().min(0);
