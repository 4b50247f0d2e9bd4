// Commands that work in bounded steps.

import type { Step } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';

/** Where a step starts, and how many rows it may look at. */
export function stepOf(
  context: PlanContext,
  step: Step,
): { readonly from: number; readonly budget: number } {
  const budget = step.budget ?? context.limits.stepRowsMax;
  return { from: step.from ?? 0, budget: Math.max(1, budget) };
}
