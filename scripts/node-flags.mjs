// How a process that runs the broker has Node start.

/**
 * V8 lets the young generation grow to 128 MiB under any lasting work, and keeps it. Two halves of
 * 8 MiB are as fast here, as what is large (bodies, tables, payloads) lies outside of it, and bound what
 * a busy node holds beyond its data. `deploy/docker/Dockerfile` has the same.
 */
export const BROKER_NODE_FLAGS = ['--max-semi-space-size=8'];
