import { CaptureError } from '../../runtime/errors/errors.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import type { Step } from '../../runtime/program/plan.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';

/**
 * Rejects steps that a file can't contain: steps compiled for the shapes of a run, which need the compiler, steps on
 * several devices, and steps with code.
 */
export function expectKnownShapes(name: string, steps: readonly Step[]): void {
  for (const { op, regions = [] } of steps) {
    if (op.op.target) throw severalDevices(name, op);
    if (op.op.kernel.kind === 'user') throw ownKernel(name, op, op.op.kernel.kernel.name);
    if (op.call) {
      const position = op.at ? ` (${formatPosition(op.at)})` : '';
      throw new CaptureError({
        what: `save: ${name || 'the function'} can't be saved as it was captured`,
        given: `${op.call.name}${position} of data-dependent shape`,
        expected:
          'shapes that are known when the program is compiled: a file has no compiler to plan others with',
        remedy:
          'give the tensor a known shape and mask what is too much: x.mul(mask) instead of x.narrow(0, 0, n), rows written into zeros([most, 4]) instead of stack(list)',
      });
    }
    for (const { forward } of regions) expectKnownShapes(name, forward.steps);
  }
}

function ownKernel(name: string, { at }: ProgramOp, kernel: string): CaptureError {
  return new CaptureError({
    what: `save: ${name || 'the function'} can't be saved as it was captured`,
    given: `the kernel ${kernel}, made by gpuKernel${at ? ` (${formatPosition(at)})` : ''}`,
    expected: "ops of the library: load() runs none of a file's code",
    remedy: 'write it with ops, or save the parts before and after it as separate functions',
  });
}

function severalDevices(name: string, { op, at }: ProgramOp): CaptureError {
  return new CaptureError({
    what: `save: ${name || 'the function'} can't be saved as it was captured`,
    given: `a transfer to ${op.target!.name}${at ? ` (${formatPosition(at)})` : ''}`,
    expected:
      'a program that runs on one device: load() puts all of it on the device that it is given',
    remedy:
      'save the parts on each device as functions of their own, and move tensors between them',
  });
}
