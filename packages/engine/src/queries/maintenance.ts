// Which kinds of requests are paused.

import type { Maintenance } from '../state.ts';
import type { EngineView, Read } from './view.ts';

/** Reads the flags. */
export function* readMaintenance(view: EngineView): Read<Maintenance> {
  if (view.spend(1)) yield;
  return view.state.maintenance;
}
