// Prometheus families whose values are read when somebody scrapes.

import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

type Value = () => number;
type Labelled = () => Iterable<readonly [label: string, value: number]>;

/** Adds a value that goes up and down. */
export function gauge(registry: Registry, name: string, help: string, value: Value): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value());
    },
  });
}

/** Adds a value that only grows. */
export function counter(registry: Registry, name: string, help: string, value: Value): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(value());
    },
  });
}

/** Values that differ by one label. */
interface LabelledFamily {
  readonly help: string;
  readonly label: string;
  readonly values: Labelled;
}

/** Adds values that go up and down, by a label. */
export function labelledGauge(registry: Registry, name: string, family: LabelledFamily): void {
  new Gauge({
    name,
    help: family.help,
    labelNames: [family.label],
    registers: [registry],
    collect() {
      for (const [label, value] of family.values()) this.set({ [family.label]: label }, value);
    },
  });
}

/** Adds values that only grow, by a label. */
export function labelledCounter(registry: Registry, name: string, family: LabelledFamily): void {
  new Counter({
    name,
    help: family.help,
    labelNames: [family.label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [label, value] of family.values()) this.inc({ [family.label]: label }, value);
    },
  });
}
