// The version that the node reports.

/** Version of the product; equal to the one in package.json. */
export const VERSION = '0.1.0';
