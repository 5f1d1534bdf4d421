import { CaptureError } from '../../runtime/errors/errors.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import type { Step } from '../../runtime/program/plan.ts';

/** What is compiled when a run brings its shapes needs the compiler, which a file has not. */
export function expectKnownShapes(name: string, steps: readonly Step[]): void {
  for (const { op, regions = [] } of steps) {
    if (op.call) {
      const place = op.at ? ` (${formatPosition(op.at)})` : '';
      throw new CaptureError({
        what: `save: ${name || 'the function'} can't be saved as it was captured`,
        given: `${op.call.name}${place} of a shape that only the run knows`,
        expected:
          'shapes that follow from those of the arguments: a file has no compiler to plan others with',
        remedy:
          'give the tensor a known shape and mask what is too much: x.mul(mask) instead of x.narrow(0, 0, n), rows written into zeros([most, 4]) instead of stack(list)',
      });
    }
    for (const { forward } of regions) expectKnownShapes(name, forward.steps);
  }
}
