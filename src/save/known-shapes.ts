import { formatPosition } from '../../runtime/errors/position.ts';
import type { Step } from '../../runtime/program/plan.ts';
import { notSavable } from './not-savable.ts';

/** What is compiled when a run brings its shapes needs the compiler, which a file has not. */
export function expectKnownShapes(name: string, steps: readonly Step[]): void {
  for (const { op, regions = [] } of steps) {
    if (op.call) {
      const place = op.at ? ` (${formatPosition(op.at)})` : '';
      throw notSavable(name, `${op.call.name}${place} of a shape that only the run knows`);
    }
    for (const { forward } of regions) expectKnownShapes(name, forward.steps);
  }
}
